// The target of a fault: one or several limiters that stand for processes. Each has its own client, and all count in one
// place. The target records the result of every hit.

import { createLimiter, fixedWindow } from 'sluice'

/** @import { ClientName, Opened } from './clients.mjs' */
/** @import { Then } from './bounds.mjs' */
/** @import { FailureCounts, Limiter, Store } from 'sluice' */

/** @typedef {{ client: ClientName, then: Then, processes?: number }} TargetOptions */

/** A hit that took longer than its deadline. @typedef {{ startMs: number, settledMs: number }} SlowHit */

/**
 * `hot` reaches its limit before the fault, `warm` during it, `free` never. A denial of `free` is wrong, and its count shows
 * every hit that was counted twice.
 */
export const KEYS = [
  { name: 'hot', limit: 80 },
  { name: 'warm', limit: 80 },
  { name: 'free', limit: 1e9 },
]

/** Distribution of ten hits over the keys. */
const SPREAD = [0, 1, 0, 2, 0, 1, 0, 2, 0, 1]

export const NO_FAILURES = { timeout: 0, refused: 0, unknown: 0, fatal: 0, 'not-asked': 0, recovered: 0 }

/** Results of one process for one key. */
class HitCounts {
  store = { allowed: 0, denied: 0 }
  fallback = { allowed: 0, denied: 0 }
  thrown = 0

  get unanswered() {
    return this.fallback.allowed + this.fallback.denied + this.thrown
  }
}

/** A client, a limiter for each key, and their results. */
class Process {
  /**
   * @param {Opened} opened
   * @param {Store} store
   * @param {readonly Limiter[]} limiters
   */
  constructor(opened, store, limiters) {
    this.opened = opened
    this.store = store
    this.limiters = limiters
    this.hitCounts = KEYS.map(() => new HitCounts())
  }
}

export class Target {
  #sent = 0
  /** @type {Set<Promise<void>>} */
  #underWay = new Set()

  /**
   * @param {TargetOptions} options
   * @param {number} timeoutMs
   * @param {string} prefix
   * @param {(name: ClientName) => Opened} open
   */
  constructor({ client, then, processes = 1 }, timeoutMs, prefix, open) {
    this.client = client
    this.then = then
    this.timeoutMs = timeoutMs
    this.prefix = prefix
    this.processes = Array.from({ length: processes }, () => {
      const opened = open(client)
      const store = opened.makeStore(prefix)
      const limiters = KEYS.map(({ limit }) => createLimiter({ rules: hourly(limit), store, failure: { timeoutMs, then } }))
      opened.connect()
      return new Process(opened, store, limiters)
    })
    /** The longest time of a hit. */
    this.worstMs = 0
    /** @type {SlowHit[]} */
    this.slow = []
    /** Time at which a hit was last settled without the store. */
    this.lastUnansweredMs = 0
    /** @type {Set<string>} errors that hits failed with */
    this.errors = new Set()
  }

  get name() {
    const { length } = this.processes
    return `${this.client}, ${this.then}${length > 1 ? `, ${length} processes` : ''}`
  }

  get hits() {
    return this.#sent
  }

  /**
   * @param {number} [key] its index; default: all keys
   * @returns {FailureCounts} sums over all processes
   */
  failures(key) {
    const sum = { ...NO_FAILURES }
    for (const { limiters } of this.processes) {
      for (const { failures } of limiters.filter((_, i) => i === (key ?? i))) {
        for (const [reason, count] of Object.entries(failures)) sum[/** @type {keyof typeof sum} */ (reason)] += count
      }
    }
    return sum
  }

  /**
   * Results of all processes for a key.
   * @param {number} key its index
   */
  countsOf(key) {
    const sum = new HitCounts()
    for (const { hitCounts } of this.processes) {
      const { store, fallback, thrown } = hitCounts[key]
      sum.thrown += thrown
      sum.store.allowed += store.allowed
      sum.store.denied += store.denied
      sum.fallback.allowed += fallback.allowed
      sum.fallback.denied += fallback.denied
    }
    return sum
  }

  /** Hits the next key through the next process. */
  hit() {
    const { limiters, hitCounts } = this.processes[this.#sent % this.processes.length]
    const key = SPREAD[Math.floor(this.#sent / this.processes.length) % SPREAD.length]
    const counts = hitCounts[key]
    this.#sent += 1
    const settled = this.#hit(limiters[key], KEYS[key].name, counts).finally(() => this.#underWay.delete(settled))
    this.#underWay.add(settled)
  }

  /**
   * The result of a synchronous store is recorded before this returns.
   * @param {Limiter} limiter
   * @param {string} name
   * @param {HitCounts} counts
   */
  async #hit(limiter, name, counts) {
    const startMs = performance.now()
    let isFromStore = false
    try {
      const answer = limiter.hit(name)
      const { allowed, source } = answer instanceof Promise ? await answer : answer
      isFromStore = source === 'store'
      counts[isFromStore ? 'store' : 'fallback'][allowed ? 'allowed' : 'denied'] += 1
    } catch (error) {
      counts.thrown += 1
      this.errors.add(/** @type {{ code?: string }} */ (error).code ?? String(error))
    }
    const settledMs = performance.now()
    const tookMs = settledMs - startMs
    this.worstMs = Math.max(this.worstMs, tookMs)
    if (tookMs > this.timeoutMs) this.slow.push({ startMs, settledMs })
    if (!isFromStore) this.lastUnansweredMs = settledMs
  }

  /** Waits until every hit has settled. */
  async settle() {
    await Promise.all(this.#underWay)
  }

  async close() {
    for (const { limiters, store, opened } of this.processes) {
      for (const limiter of limiters) await limiter.close()
      await store.close()
      opened.close()
    }
  }
}

/**
 * The rule of each key: one window that is longer than any fault.
 * @param {number} limit
 */
export function hourly(limit) {
  return fixedWindow({ limit, window: '1h', name: 'f' })
}
