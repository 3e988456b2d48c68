// Lets a limiter hold units: `createLimiter({ rules, holds: holds() })`.

import { type Call, type Charge, FIGURES, type Figures, type HoldTerms, type Operation } from '../core/call.ts'
import { checkCost } from '../core/cost.ts'
import type { Duration } from '../core/duration.ts'
import { mustBe, SluiceError, show } from '../core/errors.ts'
import type { DecisionFailure } from '../core/guard.ts'
import { FULL_OF_HOLDS, GRANTED } from '../core/held-step.ts'
import type { LimiterContext } from '../core/limiter-context.ts'
import { checkOptions } from '../core/options.ts'
import type { HeldUnits, Hold, HoldsOption, PatientReserveOptions, Reserving, RunResult } from '../core/reserving.ts'
import type { Rule } from '../core/rule.ts'
import type { Result, Timing } from '../core/store.ts'
import { type Cost, costsByRule, type Subject } from '../core/subject.ts'
import { isWhole } from '../core/whole-numbers.ts'
import { prepareHolds } from '../stores/memory/held-rows.ts'
import { type PlainHolds, type PlainTerms, plainHolds } from '../stores/memory/plain-holds.ts'
import { readToken } from './hold-token.ts'
import { after, type EndingHold, OpenHold, ttlOf } from './open-hold.ts'
import { PlainHold } from './plain-hold.ts'
import { randomId } from './random-id.ts'

export interface HoldsOptions {
  /** The most open holds of one rule and key. Beyond, `reserve` fails with ERR_HOLDS. Default: 1000. */
  readonly most?: number
}

const DEFAULT_MOST = 1000

/** The holds of a key are one value of a store, which is read and written whole. */
const MOST = 10_000

const DEFAULT_TTL_MS = 60_000

const RESERVE_OPTIONS = ['hold', 'cost', 'atLeast', 'ttl', 'expired', 'maxWaitMs', 'signal'] as const

/** Makes the option `holds` of a limiter. */
export function holds(options: HoldsOptions = {}): HoldsOption {
  checkOptions('holds', options, ['most'])
  const { most = DEFAULT_MOST } = options
  if (!isWhole(most, 1, MOST)) throw mustBe('ERR_OPTION', 'most', `a whole number from 1 to ${MOST}`, most)
  return { prepare: prepareHolds, open: (context) => new Reservations(context, most) }
}

/** Operations that spend, and hold nothing. */
const SPENDING: ReadonlySet<Operation> = new Set<Operation>(['hit', 'inc', 'set'])

class Reservations<T extends Timing> implements Reserving<T> {
  readonly #context: LimiterContext<T>
  readonly #most: number
  /** The shortest `ttl` of the rules that have nothing but holds. */
  readonly #ttlMs: number
  /** The short way, if the store has one for these rules, and nobody waits for units. */
  readonly #plain: PlainHolds | undefined
  /** The units of a hold that says nothing of them: one place, if the only rule has nothing but holds. */
  readonly #ownHold: number | undefined
  /** The terms of the last call of the short way. The object is reused. */
  readonly #terms: { -readonly [K in keyof PlainTerms]: PlainTerms[K] }
  /** The last `ttl` of the short way that was a text, and its time. */
  #lastTtl: Duration | undefined
  #lastTtlMs = 0

  constructor(context: LimiterContext<T>, most: number) {
    this.#context = context
    this.#most = most
    const ttls = context.limiter.rules.filter(({ isHeld }) => isHeld).map(({ windowMs }) => windowMs)
    this.#ttlMs = ttls.length === 0 ? DEFAULT_TTL_MS : ttlOf(Math.min(...ttls))
    const { store, subjects, waiting, limiter } = context
    if (subjects.arePlain && waiting === undefined) this.#plain = plainHolds(store, limiter.rules)
    this.#ownHold = limiter.rules[0].isHeld ? 1 : undefined
    this.#terms = { id: 0, units: 0, ttlMs: 0, isCharged: true, most }
  }

  reserve(subject: Subject, options: PatientReserveOptions): Result<T, Hold<T>> | Promise<Hold<T>> {
    const plain = this.#plain
    if (plain !== undefined) {
      const hold = this.#reservePlainly(plain, subject, options)
      if (hold !== undefined) return hold as Hold<T> as Result<T, Hold<T>>
    }
    checkOptions('reserve', options, RESERVE_OPTIONS)
    const { maxWaitMs, signal } = options
    const read = this.#context.subjects.read(subject)
    const call = this.#callOf(read, options)
    if (maxWaitMs === undefined && signal === undefined) return this.#ask(call)
    const { waiting } = this.#context
    if (waiting === undefined) {
      const message = 'a reserve that waits needs createLimiter({ rules, holds: holds(), waiting: waitingLine() })'
      throw new SluiceError('ERR_OPTION', message, { option: 'waiting' })
    }
    return waiting.takeTurn(read, { signal, maxWaitMs } as PatientReserveOptions, {
      call,
      isEstimate: true,
      // Each attempt has an id of its own: an earlier one may have reached the store although its answer was lost.
      attempt: () => this.#ask({ ...call, hold: { ...(call.hold as HoldTerms), id: randomId() } }),
      decisionOf: (hold) => hold.decision,
    })
  }

  /**
   * Reserves in the short way of the store. Returns undefined if the call is not as simple as that, or if it is denied or wrong. Then
   * nothing was changed.
   */
  #reservePlainly(plain: PlainHolds, subject: Subject, options: PatientReserveOptions): Hold<T> | undefined {
    if (typeof subject !== 'string' || subject === '' || this.#context.isClosed()) return undefined
    if (typeof options !== 'object' || options === null || Array.isArray(options)) return undefined
    for (const name in options) if (name !== 'hold' && name !== 'ttl' && name !== 'expired') return undefined
    const { hold = this.#ownHold, cost, atLeast, ttl, expired = 'charge', maxWaitMs, signal } = options
    const isMore = cost !== undefined || atLeast !== undefined || maxWaitMs !== undefined || signal !== undefined
    const isRelease = expired === 'release'
    if (isMore || !isWhole(hold, 1) || (expired !== 'charge' && !isRelease)) return undefined
    const terms = this.#terms
    terms.id = randomId()
    terms.units = hold
    terms.ttlMs = ttl === undefined ? this.#ttlMs : this.#ttlOf(ttl)
    terms.isCharged = !isRelease
    const held = plain.reserve(subject, terms)
    return held && new PlainHold(this.#context, plain, subject, held)
  }

  #ttlOf(ttl: Duration): number {
    if (typeof ttl === 'number') return ttlOf(ttl)
    if (ttl !== this.#lastTtl) {
      this.#lastTtlMs = ttlOf(ttl)
      this.#lastTtl = ttl
    }
    return this.#lastTtlMs
  }

  async run<V>(
    subject: Subject,
    options: PatientReserveOptions,
    work: (hold: Hold<T>) => V | Promise<V>,
  ): Promise<RunResult<V, T>> {
    if (typeof work !== 'function') throw mustBe('ERR_OPTION', 'work', 'a function', work)
    const hold = (await this.reserve(subject, options)) as EndingHold<T>
    if (!hold.allowed) return { allowed: false, hold }
    let value: V
    try {
      value = await work(hold)
    } catch (error) {
      await hold.endQuietly('cancel')
      throw error
    }
    await hold.endQuietly('settle')
    return { allowed: true, value, hold }
  }

  openHold(token: string): HeldUnits<T> {
    return new OpenHold(this.#context, readToken(token, this.#context.limiter.rules))
  }

  check({ operation, charges }: Call): void {
    const { rules } = this.#context.limiter
    const held = SPENDING.has(operation) ? charges.find(({ rule }) => rules[rule].isHeld) : undefined
    if (held === undefined) return
    const { name } = rules[held.rule]
    throw new SluiceError('ERR_OPTION', `${operation} cannot give back its place of rule ${show(name)}: use reserve`)
  }

  #callOf(subject: Subject, options: PatientReserveOptions): Call {
    const { expired = 'charge', ttl } = options
    if (expired !== 'charge' && expired !== 'release') throw mustBe('ERR_OPTION', 'expired', "'charge' or 'release'", expired)
    const charges = this.#chargesOf(subject, options)
    const ttlMs = ttl === undefined ? this.#ttlMs : ttlOf(ttl)
    return { operation: 'reserve', charges, hold: { id: randomId(), ttlMs, isCharged: expired === 'charge', most: this.#most } }
  }

  #ask(call: Call): Result<T, Hold<T>> {
    const answer = this.#context.ask(call, (figures, failure) => this.#holdOf(call, figures, failure))
    return after(answer as Hold<T> | SluiceError | Promise<Hold<T> | SluiceError>, orThrow) as Result<T, Hold<T>>
  }

  /** Returns the charges. Those that are held have `least`. */
  #chargesOf(subject: Subject, { hold, cost, atLeast }: PatientReserveOptions): readonly Charge[] {
    const { limiter, subjects } = this.#context
    const { rules } = limiter
    const held = amountsOf(rules, hold)
    const spent = amountsOf(rules, cost)
    const least = amountsOf(rules, atLeast)
    const charges: Charge[] = []
    let areHeld = false
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]
      const isHeld = rule.isHeld || (typeof hold === 'number' ? !names(cost, rule) : names(hold, rule))
      const amount = amountOf(isHeld ? held : spent, i)
      if (amount === 0) continue
      const charge = subjects.charge(subject, i, amount)
      if (!isHeld) charges.push(charge)
      else {
        areHeld = true
        const isLess = typeof atLeast === 'number' || names(atLeast, rule)
        const { key } = charge
        charges.push({ rule: i, key, amount, least: isLess ? Math.min(amount, Math.max(1, amountOf(least, i))) : amount })
      }
    }
    if (areHeld) return charges
    throw mustBe('ERR_OPTION', 'hold', 'units of at least one rule', hold)
  }

  #holdOf(call: Call, figures: Figures, failure: DecisionFailure | undefined): Hold<T> | SluiceError {
    const { charges } = call
    const count = charges.length
    const decision = this.#context.decide(call, figures, failure)
    const outcome = figures[count * (FIGURES + 1) + 1]
    if (outcome === FULL_OF_HOLDS)
      return new SluiceError('ERR_HOLDS', `a key has ${this.#most} open holds already, or the memory store is full of holds`)
    // A fallback that counts nothing has nothing to hold. It grants everything that it allows.
    const isCounted = outcome !== undefined
    const allowed = isCounted ? outcome === GRANTED : decision.allowed
    const granted = isCounted ? figures.slice(count * FIGURES, count * (FIGURES + 1)) : charges.map(({ amount }) => amount)
    const nowMs = figures[count * (FIGURES + 1)] ?? 0
    return new OpenHold(this.#context, {
      terms: call.hold as HoldTerms,
      charges,
      granted,
      allowed,
      isCounted,
      decision,
      expiresAt: allowed ? nowMs + (call.hold as HoldTerms).ttlMs : 0,
    })
  }
}

function orThrow<V>(answer: V | SluiceError): V {
  if (answer instanceof SluiceError) throw answer
  return answer
}

/** Returns the amount of each rule, or one for all. */
function amountsOf(rules: readonly Rule[], cost: Cost = 1): number | readonly number[] {
  if (typeof cost !== 'number') return costsByRule(rules, cost)
  checkCost(cost, 1)
  return cost
}

function amountOf(amounts: number | readonly number[], i: number): number {
  return typeof amounts === 'number' ? amounts : amounts[i]
}

/** True if costs by rule name the rule. */
function names(costs: Cost | undefined, { name }: Rule): boolean {
  return typeof costs === 'object' && Object.hasOwn(costs, name)
}
