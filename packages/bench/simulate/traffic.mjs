// A log to read, and turns of contestants over it.

import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median } from '../rounds/results.mjs'

/** @import { Contestant } from '../rounds/contestants.mjs' */

/**
 * `read` reads the whole file and returns the number of its lines.
 * @typedef {Contestant & { read(file: string): Promise<number> }} LogContestant
 */

const PATHS = [
  '/',
  '/v1/orders',
  '/v1/orders/17?expand=lines',
  '/static/app.js',
  '/login',
  '/v1/users/me',
  '/search?q=rate+limit',
]
const AGENTS = [
  'curl/8.5.0',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.2 Mobile/15E148 Safari/604.1',
]

/** Most clients of a log send little, and a few send much. */
const CLIENTS = 20_000
const FIRST_MS = Date.UTC(2026, 9, 10)
const LINES_A_SECOND = 100
const LINES_A_WRITE = 5000

/**
 * Writes a combined log into a temporary folder.
 * @param {number} lines
 */
export function makeLog(lines) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const file = join(folder, 'access.log')
  const handle = openSync(file, 'w')
  let state = 1
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
  for (let from = 0; from < lines; from += LINES_A_WRITE) {
    const part = Array.from({ length: Math.min(LINES_A_WRITE, lines - from) }, (_, i) => lineOf(from + i, random))
    writeSync(handle, part.join(''))
  }
  closeSync(handle)
  return { file, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/**
 * @param {number} number
 * @param {() => number} random
 */
function lineOf(number, random) {
  const client = Math.floor(random() ** 3 * CLIENTS)
  const time = new Date(FIRST_MS + Math.floor(number / LINES_A_SECOND) * 1000).toISOString().slice(11, 19)
  const path = PATHS[Math.floor(random() * PATHS.length)]
  const agent = AGENTS[Math.floor(random() * AGENTS.length)]
  const bytes = Math.floor(random() * 50_000)
  return `10.0.${client >> 8}.${client & 255} - - [10/Oct/2026:${time} +0000] "GET ${path} HTTP/1.1" 200 ${bytes} "https://example.com/page" "${agent}"\n`
}

/**
 * Lets contestants take turns, each over the whole file. Returns the CPU time of a line, and how many times that of each floor it is:
 * ratios are taken within a lap, then their median.
 * @param {readonly LogContestant[]} contestants
 * @param {{ file: string, lines: number, laps: number, warmUpLaps: number }} options
 * @returns {Promise<Record<string, number>>}
 */
export async function race(contestants, { file, lines, laps, warmUpLaps }) {
  /** @type {Map<string, number[]>} */
  const nanoseconds = new Map(contestants.map(({ name }) => [name, []]))
  for (let lap = -warmUpLaps; lap < laps; lap++) {
    for (const { name, read } of contestants) {
      const before = process.cpuUsage()
      const found = await read(file)
      const { user, system } = process.cpuUsage(before)
      if (found !== lines) throw new Error(`${name} found ${found} lines of ${lines}`)
      if (lap >= 0) nanoseconds.get(name)?.push(((user + system) * 1000) / lines)
    }
  }
  const of = (/** @type {string} */ name) => nanoseconds.get(name) ?? []
  const numbers = contestants.flatMap(({ name }) => [
    [timeOf(name), median(of(name))],
    ...contestants
      .filter(({ role }) => role === 'floor')
      .map((floor) => [ratioOf(name, floor.name), median(of(name).map((each, lap) => each / of(floor.name)[lap]))]),
  ])
  return Object.fromEntries(numbers)
}

/** @param {string} name */
export function timeOf(name) {
  return `nanoseconds a line: ${name}`
}

/**
 * @param {string} name
 * @param {string} floor
 */
export function ratioOf(name, floor) {
  return `${name} to ${floor}`
}
