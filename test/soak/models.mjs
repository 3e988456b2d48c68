// A model of each rule for one key with one call at a time. The store decides at an unknown time between the send and the
// answer of a call. A model therefore holds the least and the most units that can be in use at that time.
// Invariant: the true number of units lies between `low` and `high`. An answer outside is wrong at any timing.

/**
 * The time of a call in milliseconds since the epoch. The store decided in this span, both ends included.
 * @typedef {{ fromMs: number, toMs: number }} Span
 */

/**
 * @typedef {object} Model
 * @property {number} limit
 * @property {number} low least units in use
 * @property {number} high most units in use
 * @property {(span: Span) => boolean} advance moves to the time of the next call; returns false if the model gives up
 * @property {(cost: number, span: Span) => void} spend a call was allowed
 * @property {(cost: number) => void} refund units were given back
 * @property {() => void} reset
 * @property {(remain: number) => void} observe the service reported the number of whole units left
 */

/** Up to `limit` in each window. A call across the end of a window could belong to either, so the model gives up on the key. */
export class WindowModel {
  low = 0
  high = 0
  /** The end of the open window lies between these. @type {Span | undefined} */
  #end

  /** @param {{ limit: number, windowMs: number, anchor: 'clock' | 'first-hit' }} options */
  constructor({ limit, windowMs, anchor }) {
    this.limit = limit
    this.windowMs = windowMs
    this.anchor = anchor
  }

  /** @param {Span} span */
  advance({ fromMs, toMs }) {
    if (this.anchor === 'clock' && this.#boundary(fromMs) !== this.#boundary(toMs)) return false
    if (this.#end === undefined || toMs < this.#end.fromMs) return true
    if (fromMs < this.#end.toMs) return false
    this.reset()
    return true
  }

  /**
   * @param {number} cost
   * @param {Span} span
   */
  spend(cost, { fromMs, toMs }) {
    this.#end ??= { fromMs: this.#endOf(fromMs), toMs: this.#endOf(toMs) }
    this.low += cost
    this.high += cost
  }

  /** @param {number} cost */
  refund(cost) {
    this.low = Math.max(0, this.low - cost)
    this.high = Math.max(0, this.high - cost)
  }

  reset() {
    this.#end = undefined
    this.low = 0
    this.high = 0
  }

  observe() {}

  /** @param {number} atMs */
  #boundary(atMs) {
    return Math.floor(atMs / this.windowMs)
  }

  /** @param {number} atMs */
  #endOf(atMs) {
    return this.anchor === 'clock' ? (this.#boundary(atMs) + 1) * this.windowMs : atMs + this.windowMs
  }
}

/** A smooth bucket: used units flow back at `perMs`. Models token bucket, GCRA and leaky bucket. */
export class BucketModel {
  low = 0
  high = 0
  /** @type {Span | undefined} */
  #last

  /** @param {{ limit: number, perMs: number }} options */
  constructor({ limit, perMs }) {
    this.limit = limit
    this.perMs = perMs
  }

  /** @param {Span} span */
  advance(span) {
    const last = this.#last ?? span
    const leastMs = Math.max(0, span.fromMs - last.toMs)
    this.low = Math.max(0, this.low - (span.toMs - last.fromMs) * this.perMs)
    this.high = Math.max(0, this.high - leastMs * this.perMs)
    this.#last = span
    return true
  }

  /** @param {number} cost */
  spend(cost) {
    this.low += cost
    this.high += cost
  }

  /** @param {number} cost */
  refund(cost) {
    this.low = Math.max(0, this.low - cost)
    this.high = Math.max(0, this.high - cost)
  }

  reset() {
    this.low = 0
    this.high = 0
  }

  /** The service reports whole tokens, rounded down. The fraction stays unknown. @param {number} remain */
  observe(remain) {
    this.low = Math.max(this.low, this.limit - remain - 1)
    this.high = Math.min(this.high, this.limit - remain)
  }
}

/** Up to `limit` in any window, at any start. */
export class LogModel {
  low = 0
  high = 0
  /** @type {{ cost: number, span: Span }[]} */
  #entries = []

  /** @param {{ limit: number, windowMs: number }} options */
  constructor({ limit, windowMs }) {
    this.limit = limit
    this.windowMs = windowMs
  }

  /** @param {Span} span */
  advance({ fromMs, toMs }) {
    this.#entries = this.#entries.filter(({ span }) => fromMs - span.toMs < this.windowMs)
    this.high = sum(this.#entries)
    this.low = sum(this.#entries.filter(({ span }) => toMs - span.fromMs < this.windowMs))
    return true
  }

  /**
   * @param {number} cost
   * @param {Span} span
   */
  spend(cost, span) {
    this.#entries.push({ cost, span })
    this.low += cost
    this.high += cost
  }

  /** Gives back the newest entries first. @param {number} cost */
  refund(cost) {
    let owed = cost
    while (owed > 0 && this.#entries.length > 0) {
      const newest = this.#entries[this.#entries.length - 1]
      const given = Math.min(owed, newest.cost)
      owed -= given
      newest.cost -= given
      if (newest.cost === 0) this.#entries.pop()
    }
    this.low = Math.max(0, this.low - cost)
    this.high = Math.max(0, this.high - cost)
  }

  reset() {
    this.#entries = []
    this.low = 0
    this.high = 0
  }

  observe() {}
}

/** @param {readonly { cost: number }[]} entries */
function sum(entries) {
  return entries.reduce((total, { cost }) => total + cost, 0)
}

/** Upper bound on the rounding error of sums of fractions. */
const ROUNDING = 1e-6

/**
 * True if a rule with this model may have room for the cost.
 * @param {Model} model
 * @param {number} cost
 */
export function couldAllow(model, cost) {
  return model.low + cost <= model.limit + ROUNDING
}

/**
 * True if a rule with this model may have no room for the cost.
 * @param {Model} model
 * @param {number} cost
 */
export function couldDeny(model, cost) {
  return model.high + cost > model.limit - ROUNDING
}

/**
 * Compares the answer to a check with the model, and applies it to the model. Returns a complaint, or undefined.
 * The caller has advanced the model to the time of the call.
 * @param {Model} model
 * @param {number} cost
 * @param {Span} span
 * @param {{ allowed: boolean, limit?: number | undefined, remain: number }} answer
 */
export function judge(model, cost, span, { allowed, limit = model.limit, remain }) {
  if (limit !== model.limit) return `the limit is reported as ${limit}, not ${model.limit}`
  if (allowed && !couldAllow(model, cost)) {
    return `${cost} allowed with at least ${model.low} of ${model.limit} used`
  }
  if (!allowed && !couldDeny(model, cost)) {
    return `${cost} denied with at most ${model.high} of ${model.limit} used`
  }
  if (allowed) {
    model.high = Math.min(model.high, model.limit - cost)
    model.spend(cost, span)
  } else {
    model.low = Math.max(model.low, model.limit - cost)
  }
  return holdRemain(model, remain)
}

/**
 * Compares the reported number of units left with the model. Returns a complaint, or undefined.
 * @param {Model} model
 * @param {number} remain whole units
 */
export function holdRemain(model, remain) {
  const least = Math.max(0, Math.floor(model.limit - model.high - ROUNDING))
  const most = Math.max(0, Math.floor(model.limit - model.low + ROUNDING))
  if (remain < least || remain > most) return `${remain} of ${model.limit} are said to be left, between ${least} and ${most} are`
  model.observe(remain)
  return undefined
}
