// Measures how long the machine did not run this process or a server, because of other work or because it slept. A call that is late
// for that reason is distinguished from a call that is late by itself. Time in which a process ran or was idle does not count.

import { readFileSync } from 'node:fs'

const EVERY_MS = 10

export class StallWatch {
  /** @type {{ fromMs: number, toMs: number, stolenMs: number }[]} */
  #stalls = []
  #lastMs = performance.now()
  #lastCpu = process.cpuUsage()
  #lastQueuedMs = queuedMs('self')
  #timer = setInterval(() => this.#sample(), EVERY_MS)
  /** @type {() => readonly number[]} */
  #serverPids
  /** Time that each server had waited for a processor at the last sample, in ms. */
  #serverQueuedMs = /** @type {Map<number, number>} */ (new Map())
  #worstOfServersMs = 0

  /** @param {() => readonly number[]} [serverPids] process ids of the servers that run now */
  constructor(serverPids = () => []) {
    this.#serverPids = serverPids
  }

  /** The longest stall, of this process or of a server. */
  get worstMs() {
    return Math.max(this.#worstOfServersMs, ...this.#stalls.map(({ stolenMs }) => stolenMs))
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
    this.#lastMs = nowMs
    this.#lastCpu = process.cpuUsage()
    this.#lastQueuedMs = nowQueuedMs
    for (const pid of this.#serverPids()) this.#sampleServer(pid)
  }

  /** @param {number} pid */
  #sampleServer(pid) {
    const nowQueuedMs = queuedMs(pid)
    const stolenMs = nowQueuedMs - (this.#serverQueuedMs.get(pid) ?? nowQueuedMs)
    this.#serverQueuedMs.set(pid, nowQueuedMs)
    this.#worstOfServersMs = Math.max(this.#worstOfServersMs, stolenMs)
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
