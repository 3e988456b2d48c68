// Turns of a few milliseconds: contestants in one process, each in a thread with an isolate of its own, so that no contestant runs
// code that was compiled for another. One works while the others wait. The machine's speed jumps within seconds, and neighbours
// in time see the same machine.

import { Worker } from 'node:worker_threads'

/** Hits of one turn: one to four milliseconds. */
const hitsPerTurn = 10_000
const warmUpTurns = 40

/** Words that a thread and its caller share. The time of a turn is a double. */
const STATE = 0
const HITS = 1
const TOOK = 1
const WAITING = 0
const WORKING = 1

/**
 * Lets two threads take turns, and returns how many times as long the second took as the first: the median over pairs of
 * turns that followed one another.
 * @param {Turns} first
 * @param {Turns} second
 * @param {number} pairs
 */
export function ratioOf(first, second, pairs) {
  const ratios = Array.from({ length: pairs }, () => {
    const firstMs = first.takeTurn(hitsPerTurn)
    return second.takeTurn(hitsPerTurn) / firstMs
  })
  return ratios.sort((a, b) => a - b)[pairs >> 1]
}

/** A thread that works when it is told to. */
export class Turns {
  /** @type {Worker} */
  #worker
  #words = new Int32Array(new SharedArrayBuffer(16))

  /**
   * @param {string} file URL of a module that calls `serveTurns`
   * @param {object} params
   */
  constructor(file, params) {
    this.#worker = new Worker(new URL(file), { workerData: { params, words: this.#words } })
  }

  /** Until all that comes before the first turn is done. */
  async ready() {
    await new Promise((resolve, reject) => this.#worker.once('message', resolve).once('error', reject))
    // Short turns first, so that all of a turn's code, its end too, has run often before any of it is compiled for good.
    for (let i = 0; i < warmUpTurns; i++) this.takeTurn(i < warmUpTurns / 2 ? hitsPerTurn / 100 : hitsPerTurn)
  }

  /**
   * @param {number} hits
   * @returns {number} milliseconds
   */
  takeTurn(hits) {
    const words = this.#words
    words[HITS] = hits
    Atomics.store(words, STATE, WORKING)
    Atomics.notify(words, STATE)
    Atomics.wait(words, STATE, WORKING)
    return new Float64Array(words.buffer)[TOOK]
  }

  end() {
    return this.#worker.terminate()
  }
}

/**
 * The other side, in the thread. Never returns.
 * @param {Int32Array} words
 * @param {(hits: number) => void} work
 */
export function serveTurns(words, work) {
  const took = new Float64Array(words.buffer)
  for (;;) {
    Atomics.wait(words, STATE, WAITING)
    const startMs = performance.now()
    work(words[HITS])
    took[TOOK] = performance.now() - startMs
    Atomics.store(words, STATE, WAITING)
    Atomics.notify(words, STATE)
  }
}
