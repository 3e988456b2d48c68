// Memory of Redis and of each instance over time, and whether it levels off.

import { readFileSync } from 'node:fs'

/** @import { Fleet } from './fleet.mjs' */

const EVERY_MS = 1000

/** Growth below this is the garbage collector's. */
const SMALLEST_GROWTH_BYTES = 12 * 2 ** 20
const SMALLEST_GROWTH = 0.1

/** A process takes minutes to warm up: fewer samples say nothing about its growth. */
const FEWEST_SAMPLES = 120

/** No process grows by more than this, however short the soak is. */
export const MOST_GROWTH_BYTES = 200 * 2 ** 20

/** The life of one process; that of Redis goes on after a restart, as its data do. @typedef {{ of: number | string, rss: number[], used: number[] }} Life */

export class MemoryWatch {
  /** By the name of the server, its processes in their order. @type {Map<string, Life[]>} */
  #lives = new Map()
  #timer

  /** @param {Fleet} fleet */
  constructor(fleet) {
    this.fleet = fleet
    this.#timer = setInterval(() => this.#look(), EVERY_MS)
    this.#look()
  }

  /** The lives of the processes of one server. @param {string} name */
  lives(name) {
    return this.#lives.get(name) ?? []
  }

  /**
   * Notes what a process says that it uses: the heap of an instance, the data of Redis.
   * @param {string} name
   * @param {number} bytes
   */
  tell(name, bytes) {
    if (Number.isFinite(bytes)) this.lives(name).at(-1)?.used.push(bytes)
  }

  stop() {
    clearInterval(this.#timer)
  }

  #look() {
    const { redis, instances } = this.fleet
    this.#note('redis', redis.process?.pid, 'redis')
    for (const { name, pid } of instances) this.#note(name, pid)
  }

  /**
   * @param {string} name
   * @param {number | undefined} pid
   * @param {number | string | undefined} of
   */
  #note(name, pid, of = pid) {
    const bytes = pid === undefined ? undefined : residentBytes(pid)
    if (pid === undefined || of === undefined || bytes === undefined) return
    const lives = this.lives(name)
    if (lives.at(-1)?.of !== of) lives.push({ of, rss: [], used: [] })
    lives.at(-1)?.rss.push(bytes)
    this.#lives.set(name, lives)
  }
}

/**
 * True if a series grows to its end, and at its end no slower than before. Its first quarter is the warm-up. The rest is
 * looked at in three parts, each by its tenth percentile: what is left after garbage was collected.
 * @param {readonly number[]} series one number a second
 */
export function keepsGrowing(series) {
  const [start = 0] = series
  if (series.some((bytes) => bytes - start > MOST_GROWTH_BYTES)) return true
  if (isTooShort(series)) return false
  const rest = series.slice(Math.floor(series.length / 4))
  const third = Math.floor(rest.length / 3)
  const [first, second, last] = [0, 1, 2].map((part) => floorOf(rest.slice(part * third, (part + 1) * third)))
  const growth = last - second
  return growth > Math.max(SMALLEST_GROWTH_BYTES, second * SMALLEST_GROWTH) && growth > (second - first) / 2
}

/**
 * True if a series is too short for its growth to be judged, unless it passes MOST_GROWTH_BYTES.
 * @param {readonly number[]} series one number a second
 */
export function isTooShort(series) {
  return series.length < FEWEST_SAMPLES
}

/** @param {readonly number[]} numbers */
function floorOf(numbers) {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 10)]
}

/** @param {number} pid */
function residentBytes(pid) {
  try {
    const kB = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kB === undefined ? undefined : Number(kB) * 1024
  } catch {
    return undefined
  }
}
