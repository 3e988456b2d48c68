// Whether the machine kept this process from running: with other work to do, or asleep itself. A call that settles late because
// of that is told apart from a call that is late by itself: time in which the process ran, or had nothing to do, does not count.

import { readFileSync } from 'node:fs'

const EVERY_MS = 10

export class StallWatch {
  /** @type {{ fromMs: number, toMs: number, stolenMs: number }[]} */
  #stalls = []
  #lastMs = performance.now()
  #lastCpu = process.cpuUsage()
  #lastQueuedMs = queuedMs()
  #timer = setInterval(() => this.#look(), EVERY_MS)

  /** The most time that was taken from the process at a stretch. */
  get worstMs() {
    return Math.max(0, ...this.#stalls.map(({ stolenMs }) => stolenMs))
  }

  /**
   * How much of the time between two moments was taken from the process.
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

  #look() {
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

/** How long this process has waited for a processor so far, where the system says so: the second number, in nanoseconds. */
function queuedMs() {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}
