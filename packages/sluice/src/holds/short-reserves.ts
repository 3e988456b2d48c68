// Reserves in the short ways of a memory store. A call that is not simple enough is left to the general way.

import type { Duration } from '../core/duration.ts'
import type { LimiterContext } from '../core/limiter-context.ts'
import type { Hold, PatientReserveOptions } from '../core/reserving.ts'
import type { Timing } from '../core/store.ts'
import { type Cost, keyOf, type Subject } from '../core/subject.ts'
import { isWhole } from '../core/whole-numbers.ts'
import { type JointHolds, jointHolds } from '../stores/memory/joint-holds.ts'
import { type PlainHolds, type PlainTerms, plainHolds } from '../stores/memory/plain-holds.ts'
import { ttlOf } from './open-hold.ts'
import { PlainHold } from './plain-hold.ts'
import { randomId } from './random-id.ts'

/** Terms of the last call. The object is reused. */
type Reused<Terms> = { -readonly [K in keyof Terms]: Terms[K] }

/** Returns a function that reserves in a short way; undefined if the limiter's store and rules have none. */
export function shortReserves<T extends Timing>(
  context: LimiterContext<T>,
  defaults: { readonly ttlMs: number; readonly most: number },
): ShortReserves<T> | undefined {
  const { store, waiting, subjects, limiter } = context
  // Callers that wait have to hear of every settle.
  if (waiting !== undefined) return undefined
  const plain = subjects.arePlain ? plainHolds(store, limiter.rules) : undefined
  const joint = plain === undefined ? jointHolds(store, limiter.rules) : undefined
  return plain === undefined && joint === undefined ? undefined : new ShortReserves(context, defaults, plain, joint)
}

export class ShortReserves<T extends Timing> {
  readonly #context: LimiterContext<T>
  readonly #ttlMs: number
  /** The short way of one rule, or of several. */
  readonly #plain: PlainHolds | undefined
  readonly #joint: JointHolds | undefined
  /** Units that one rule holds if the call says nothing of them: one place, if the rule has nothing but holds. */
  readonly #ownHold: number | undefined
  readonly #plainTerms: Reused<PlainTerms>
  readonly #most: number
  /** The last `ttl` that was a text, and its time. */
  #lastTtl: Duration | undefined
  #lastTtlMs = 0

  constructor(
    context: LimiterContext<T>,
    { ttlMs, most }: { readonly ttlMs: number; readonly most: number },
    plain: PlainHolds | undefined,
    joint: JointHolds | undefined,
  ) {
    this.#context = context
    this.#ttlMs = ttlMs
    this.#plain = plain
    this.#joint = joint
    this.#ownHold = context.limiter.rules[0].isHeld ? 1 : undefined
    this.#plainTerms = { id: 0, units: 0, ttlMs: 0, isCharged: true, most }
    this.#most = most
  }

  /** Returns undefined if the call is not as simple as that, or if it is denied or wrong. Then nothing was changed. */
  reserve(subject: Subject, options: PatientReserveOptions): Hold<T> | undefined {
    if (this.#context.isClosed()) return undefined
    if (typeof options !== 'object' || options === null || Array.isArray(options)) return undefined
    for (const name in options) if (name !== 'hold' && name !== 'ttl' && name !== 'expired') return undefined
    const { hold, cost, atLeast, ttl, expired = 'charge', maxWaitMs, signal } = options
    const isMore = cost !== undefined || atLeast !== undefined || maxWaitMs !== undefined || signal !== undefined
    const isRelease = expired === 'release'
    if (isMore || (expired !== 'charge' && !isRelease)) return undefined
    const plain = this.#plain
    if (plain === undefined) return this.#reserveJointly(subject, hold, ttl, isRelease)
    const units = hold ?? this.#ownHold
    if (typeof subject !== 'string' || subject === '' || !isWhole(units, 1)) return undefined
    const terms = this.#plainTerms
    terms.id = randomId()
    terms.units = units
    terms.ttlMs = ttl === undefined ? this.#ttlMs : this.#ttlOf(ttl)
    terms.isCharged = !isRelease
    const held = plain.reserve(subject, terms)
    return held && new PlainHold(this.#context, plain, held)
  }

  #reserveJointly(subject: Subject, hold: Cost | undefined, ttl: Duration | undefined, isRelease: boolean): Hold<T> | undefined {
    const joint = this.#joint as JointHolds
    const { limiter, subjects } = this.#context
    const read = subjects.read(subject)
    const keys = typeof read === 'string' ? read : limiter.rules.map((rule) => keyOf(rule, read))
    const units = this.#unitsOf(hold)
    if (units === undefined) return undefined
    const ttlMs = ttl === undefined ? this.#ttlMs : this.#ttlOf(ttl)
    const held = joint.reserve(keys, { id: randomId(), units, ttlMs, isCharged: !isRelease, most: this.#most })
    return held && new PlainHold(this.#context, joint, held)
  }

  /** Returns the units of each rule, negative if they are not held; undefined if they are not whole, or if none is held. */
  #unitsOf(hold: Cost | undefined): readonly number[] | undefined {
    const { rules } = this.#context.limiter
    const isByRule = typeof hold === 'object'
    if (isByRule && (hold === null || Object.getPrototypeOf(hold) !== Object.prototype)) return undefined
    let unread = isByRule ? Object.keys(hold).length : 0
    let isAnyHeld = false
    // A new array: a getter or a clock of the caller's own could call this limiter, and would overwrite one that is reused.
    const units: number[] = []
    for (let i = 0; i < rules.length; i++) {
      const { name, isHeld = false } = rules[i]
      const isNamed = isByRule && Object.hasOwn(hold, name)
      const amount = isNamed ? hold[name] : isByRule ? 1 : (hold ?? 1)
      if (!isWhole(amount, 1)) return undefined
      if (isNamed) unread -= 1
      // A number holds units of every rule.
      const areHeld = isHeld || isNamed || typeof hold === 'number'
      units.push(areHeld ? amount : -amount)
      isAnyHeld ||= areHeld
    }
    return unread === 0 && isAnyHeld ? units : undefined
  }

  #ttlOf(ttl: Duration): number {
    if (typeof ttl === 'number') return ttlOf(ttl)
    if (ttl !== this.#lastTtl) {
      this.#lastTtlMs = ttlOf(ttl)
      this.#lastTtl = ttl
    }
    return this.#lastTtlMs
  }
}
