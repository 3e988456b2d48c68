// Measures how long the machine did not run this process or a server, because of other work or because it slept. A call that is late
// for that reason is distinguished from a call that is late by itself. Time in which a process ran or was idle does not count.

import { readFileSync } from 'node:fs'

const EVERY_MS = 10

/** Several short stalls within this time delay a call as much as a long one. */
const WINDOW_MS = 200

/** @typedef {{ fromMs: number, toMs: number, stolenMs: number }} Stall */

export class StallWatch {
  /** @type {Stall[]} */
  #stalls = []
  /** @type {Stall[]} */
  #serverStalls = []
  #lastMs = performance.now()
  #lastCpu = process.cpuUsage()
  #lastQueuedMs = queuedMs('self')
  #timer = setInterval(() => this.#sample(), EVERY_MS)
  /** @type {() => readonly number[]} */
  #serverPids
  /** Time that each server had waited for a processor at the last sample, in ms. */
  #serverQueuedMs = /** @type {Map<number, number>} */ (new Map())

  /** @param {() => readonly number[]} [serverPids] process ids of the servers that run now */
  constructor(serverPids = () => []) {
    this.#serverPids = serverPids
  }

  /** The most time in a window for which the machine did not run this process or a server. */
  get worstMs() {
    const stalls = [...this.#stalls, ...this.#serverStalls].sort((a, b) => a.toMs - b.toMs)
    let [first, sumMs, worstMs] = [0, 0, 0]
    for (const { toMs, stolenMs } of stalls) {
      sumMs += stolenMs
      while (stalls[first].toMs < toMs - WINDOW_MS) sumMs -= stalls[first++].stolenMs
      worstMs = Math.max(worstMs, sumMs)
    }
    return worstMs
  }

  /**
   * Stalled time between two times.
   * @param {number} fromMs
   * @param {number} toMs
   */
  stolenBetween(fromMs, toMs) {
    const overlapping = this.#stalls.filter((stall) => stall.toMs > fromMs && stall.fromMs < toMs)
    return overlapping.reduce((sum, { stolenMs }) => sum + stolenMs, 0)
  }

  stop() {
    clearInterval(this.#timer)
  }

  #sample() {
    const nowMs = performance.now()
    const nowQueuedMs = queuedMs('self')
    const { user, system } = process.cpuUsage(this.#lastCpu)
    const unexplainedMs = nowMs - this.#lastMs - EVERY_MS - (user + system) / 1000
    const stolenMs = Math.max(unexplainedMs, nowQueuedMs - this.#lastQueuedMs)
    if (stolenMs > 1) this.#stalls.push({ fromMs: this.#lastMs, toMs: nowMs, stolenMs })
    for (const pid of this.#serverPids()) this.#sampleServer(pid, nowMs)
    this.#lastMs = nowMs
    this.#lastCpu = process.cpuUsage()
    this.#lastQueuedMs = nowQueuedMs
  }

  /**
   * @param {number} pid
   * @param {number} nowMs
   */
  #sampleServer(pid, nowMs) {
    const nowQueuedMs = queuedMs(pid)
    const stolenMs = nowQueuedMs - (this.#serverQueuedMs.get(pid) ?? nowQueuedMs)
    this.#serverQueuedMs.set(pid, nowQueuedMs)
    if (stolenMs > 1) this.#serverStalls.push({ fromMs: this.#lastMs, toMs: nowMs, stolenMs })
  }
}

/**
 * Time that a process has waited for a processor so far, in ms. Linux reports it as the second number, in nanoseconds.
 * @param {number | 'self'} pid
 */
function queuedMs(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}
