// Measures the time in which the machine kept processes waiting for a processor. A machine with other work makes answers
// late, and late answers of Redis are replaced by the stand-in: neither is held against the service.

import { readFileSync } from 'node:fs'

const EVERY_MS = 100

/** Only the last minute is kept. */
const KEPT = 600

/** Waits that add up to this within a second explain an answer without the store. */
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
    this.#timer = setInterval(() => this.#look(), EVERY_MS)
  }

  /** Of the last so many milliseconds, those in which a process waited. @param {number} spanMs */
  stolenOfLast(spanMs) {
    this.#look()
    return Math.min(spanMs, this.#stolenBetween(this.#lastMs - spanMs, this.#lastMs))
  }

  /** True if the machine starved the processes at some time since then. @param {number} sinceMs */
  isStarvedSince(sinceMs) {
    const since = this.#samples.filter(({ toMs }) => toMs > sinceMs)
    return since.some(({ toMs }) => this.#stolenBetween(toMs - 1000, toMs) >= BLAMED_FROM_MS)
  }

  stop() {
    clearInterval(this.#timer)
  }

  /**
   * Of all processes together: a request passes through one after the other.
   * @param {number} fromMs
   * @param {number} toMs
   */
  #stolenBetween(fromMs, toMs) {
    const overlapping = this.#samples.filter((sample) => sample.toMs > fromMs && sample.fromMs < toMs)
    return overlapping.reduce((sum, { stolenMs }) => sum + stolenMs, 0)
  }

  #look() {
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

/** The time that a process has waited for a processor so far, where the system tells. @param {number} pid */
function waitedMs(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}
