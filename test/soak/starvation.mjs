// Measures how long processes waited for a processor. On a busy machine answers are late, and the stand-in replaces late
// answers of Redis. Neither counts against the service.

import { readFileSync } from 'node:fs'

const EVERY_MS = 100

/** Number of samples that are kept: one minute. */
const KEPT = 600

/** Waits that add up to this within a second explain a decision without the store. */
const BLAMED_FROM_MS = 250

export class Starvation {
  /** @type {{ fromMs: number, toMs: number, stolenMs: number }[]} */
  #samples = []
  /** @type {Map<number, number>} */
  #waited = new Map()
  #lastMs = performance.now()
  #pids
  #timer

  /** @param {() => readonly (number | undefined)[]} pids */
  constructor(pids) {
    this.#pids = pids
    this.#timer = setInterval(() => this.#sample(), EVERY_MS)
  }

  /** The part of the last `spanMs` in which a process waited. @param {number} spanMs */
  stolenOfLast(spanMs) {
    this.#sample()
    return Math.min(spanMs, this.#stolenBetween(this.#lastMs - spanMs, this.#lastMs))
  }

  /** True if the machine starved the processes at some time since `sinceMs`. @param {number} sinceMs */
  isStarvedSince(sinceMs) {
    const since = this.#samples.filter(({ toMs }) => toMs > sinceMs)
    return since.some(({ toMs }) => this.#stolenBetween(toMs - 1000, toMs) >= BLAMED_FROM_MS)
  }

  stop() {
    clearInterval(this.#timer)
  }

  /**
   * Sum over all processes, because a request passes through one after the other.
   * @param {number} fromMs
   * @param {number} toMs
   */
  #stolenBetween(fromMs, toMs) {
    const overlapping = this.#samples.filter((sample) => sample.toMs > fromMs && sample.fromMs < toMs)
    return overlapping.reduce((sum, { stolenMs }) => sum + stolenMs, 0)
  }

  #sample() {
    const nowMs = performance.now()
    let stolenMs = 0
    /** @type {Map<number, number>} */
    const waited = new Map()
    for (const pid of [process.pid, ...this.#pids()]) {
      if (pid === undefined) continue
      const ms = waitedMs(pid)
      stolenMs += Math.max(0, ms - (this.#waited.get(pid) ?? ms))
      waited.set(pid, ms)
    }
    this.#samples.push({ fromMs: this.#lastMs, toMs: nowMs, stolenMs })
    if (this.#samples.length > KEPT) this.#samples.shift()
    this.#waited = waited
    this.#lastMs = nowMs
  }
}

/** Time that a process has waited for a processor so far. 0 if the system does not report it. @param {number} pid */
function waitedMs(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}
