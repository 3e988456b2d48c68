// Measures how long the machine did not run this process, because of other work or because it slept. A call that is late for
// that reason is distinguished from a call that is late by itself. Time in which the process ran or was idle does not count.

import { readFileSync } from 'node:fs'

const EVERY_MS = 10

export class StallWatch {
  /** @type {{ fromMs: number, toMs: number, stolenMs: number }[]} */
  #stalls = []
  #lastMs = performance.now()
  #lastCpu = process.cpuUsage()
  #lastQueuedMs = queuedMs()
  #timer = setInterval(() => this.#sample(), EVERY_MS)

  /** The longest stall. */
  get worstMs() {
    return Math.max(0, ...this.#stalls.map(({ stolenMs }) => stolenMs))
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
    const nowQueuedMs = queuedMs()
    const { user, system } = process.cpuUsage(this.#lastCpu)
    const unexplainedMs = nowMs - this.#lastMs - EVERY_MS - (user + system) / 1000
    const stolenMs = Math.max(unexplainedMs, nowQueuedMs - this.#lastQueuedMs)
    if (stolenMs > 1) this.#stalls.push({ fromMs: this.#lastMs, toMs: nowMs, stolenMs })
    this.#lastMs = nowMs
    this.#lastCpu = process.cpuUsage()
    this.#lastQueuedMs = nowQueuedMs
  }
}

/** Time that this process has waited for a processor so far, in ms. Linux reports it as the second number, in nanoseconds. */
function queuedMs() {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}
