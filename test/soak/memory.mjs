// Memory of the store and of each instance over time, and a test of its growth.

import { readFileSync } from 'node:fs'

/** @import { Fleet } from './fleet.mjs' */

const EVERY_MS = 1000

/** Smaller growth is noise of the garbage collector. */
const SMALLEST_GROWTH_BYTES = 12 * 2 ** 20
const SMALLEST_GROWTH = 0.1

/** A process takes minutes to warm up, so fewer samples say nothing about its growth. */
const FEWEST_SAMPLES = 120

/** Largest growth of a process in a soak of any length. */
export const MOST_GROWTH_BYTES = 200 * 2 ** 20

/** Samples of one process. A store keeps its entry after a restart, because it keeps its data. @typedef {{ id: number | string, rss: number[], used: number[] }} ProcessMemory */

export class MemoryWatch {
  /** The processes of each server, by its name, in order of their start. @type {Map<string, ProcessMemory[]>} */
  #processes = new Map()
  #timer

  /** @param {Fleet} fleet */
  constructor(fleet) {
    this.fleet = fleet
    this.#timer = setInterval(() => this.#sample(), EVERY_MS)
    this.#sample()
  }

  /** The processes of one server. @param {string} name */
  processes(name) {
    return this.#processes.get(name) ?? []
  }

  /**
   * Adds a value that a process reports: the heap of an instance, the data of the store.
   * @param {string} name
   * @param {number} bytes
   */
  addUsed(name, bytes) {
    if (Number.isFinite(bytes)) this.processes(name).at(-1)?.used.push(bytes)
  }

  stop() {
    clearInterval(this.#timer)
  }

  #sample() {
    const { store, instances } = this.fleet
    this.#note('store', store.pids()[0], 'store')
    for (const { name, pid } of instances) this.#note(name, pid)
  }

  /**
   * @param {string} name
   * @param {number | undefined} pid
   * @param {number | string | undefined} id
   */
  #note(name, pid, id = pid) {
    const bytes = pid === undefined ? undefined : residentBytes(pid)
    if (pid === undefined || id === undefined || bytes === undefined) return
    const processes = this.processes(name)
    if (processes.at(-1)?.id !== id) processes.push({ id, rss: [], used: [] })
    processes.at(-1)?.rss.push(bytes)
    this.#processes.set(name, processes)
  }
}

/**
 * True if a series still grows at its end, and no slower than before. The first quarter is the warm-up. The rest is split
 * into three parts, each measured by its tenth percentile, which is the level after garbage collection.
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
 * True if a series is too short to judge its growth, unless it exceeds MOST_GROWTH_BYTES.
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
