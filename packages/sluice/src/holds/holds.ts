// Lets a limiter hold units: `createLimiter({ rules, holds: holds() })`.

import { type Call, type Charge, FIGURES, type Figures, type HoldTerms, type Operation } from '../core/call.ts'
import { checkCost } from '../core/cost.ts'
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
import { readToken } from './hold-token.ts'
import { type EndingHold, OpenHold, ttlOf } from './open-hold.ts'
import { randomId } from './random-id.ts'
import { type ShortReserves, shortReserves } from './short-reserves.ts'

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
  /** Set if the store has a short way for these rules, and nobody waits for units. */
  readonly #short: ShortReserves<T> | undefined

  constructor(context: LimiterContext<T>, most: number) {
    this.#context = context
    this.#most = most
    const ttls = context.limiter.rules.filter(({ isHeld }) => isHeld).map(({ windowMs }) => windowMs)
    this.#ttlMs = ttls.length === 0 ? DEFAULT_TTL_MS : ttlOf(Math.min(...ttls))
    this.#short = shortReserves(context, { ttlMs: this.#ttlMs, most })
  }

  reserve(subject: Subject, options: PatientReserveOptions): Result<T, Hold<T>> | Promise<Hold<T>> {
    const short = this.#short?.reserve(subject, options)
    if (short !== undefined) return short as Result<T, Hold<T>>
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
    return this.#context.ask(call, (figures, failure) => this.#holdOf(call, figures, failure))
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

  /** Returns the hold, or throws ERR_HOLDS. */
  #holdOf(call: Call, figures: Figures, failure: DecisionFailure | undefined): Hold<T> {
    const { charges } = call
    const count = charges.length
    const decision = this.#context.decide(call, figures, failure)
    const outcome = figures[count * (FIGURES + 1) + 1]
    if (outcome === FULL_OF_HOLDS)
      throw new SluiceError('ERR_HOLDS', `a key has ${this.#most} open holds already, or the memory store is full of holds`)
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
