// The result of `reserve`: a hold that can be settled, cancelled and extended, or a denial.

import type { Call, Charge, Figures, HoldTerms, Operation } from '../core/call.ts'
import { checkCost, checkCosts } from '../core/cost.ts'
import type { Decision } from '../core/decision.ts'
import { type Duration, durationMs } from '../core/duration.ts'
import { mustBe, SluiceError } from '../core/errors.ts'
import { LONGEST_HOLD_MS } from '../core/holds.ts'
import type { LimiterContext } from '../core/limiter-context.ts'
import type { Hold } from '../core/reserving.ts'
import type { Rule } from '../core/rule.ts'
import type { Result, Timing } from '../core/store.ts'
import { type Cost, costsByRule } from '../core/subject.ts'
import { writeToken } from './hold-token.ts'

/** The facts about a hold that was reserved, here or in another process. */
export interface HeldFacts {
  readonly terms: HoldTerms
  /** The charges of the call that reserved. Those that are held have `least`. */
  readonly charges: readonly Charge[]
  /** Units that each charge holds. */
  readonly granted: readonly number[]
  /** Names of held rules that this limiter does not have. A settle may name them, and charges nothing for them. */
  readonly leftOut?: readonly string[]
  readonly allowed: boolean
  /** False if a fallback decided that counts nothing. Then nothing is held, and there is nothing to end. */
  readonly isCounted: boolean
  /** Undefined if another process reserved. */
  readonly decision: Decision | undefined
  readonly expiresAt: number
}

/** Reads the time of a hold. */
export function ttlOf(ttl: Duration): number {
  const ttlMs = durationMs(ttl, 'ttl')
  if (ttlMs > LONGEST_HOLD_MS) throw mustBe('ERR_DURATION', 'ttl', "at most '7d': extend a hold that is needed for longer", ttl)
  return ttlMs
}

/** Calls `then` with a value, or with the value of a promise. */
function after<V, W>(value: V | Promise<V>, then: (value: V) => W): W | Promise<W> {
  return value instanceof Promise ? value.then(then) : then(value)
}

/** A hold that `run` can end. */
export interface EndingHold<T extends Timing> extends Hold<T> {
  /**
   * Settles in full or cancels, unless the caller has tried to end the hold. If it has expired, or the store does not answer, the work that was
   * done must not fail: at worst the hold expires. Listeners for failures hear of it.
   */
  endQuietly(operation: 'settle' | 'cancel'): Promise<void>
}

export class OpenHold<T extends Timing> implements EndingHold<T> {
  readonly #context: LimiterContext<T>
  readonly #facts: HeldFacts
  #expiresAt: number
  #hasEnded = false
  /** True if the caller has tried to end the hold, also if the store has refused that. */
  #wasTried = false

  constructor(context: LimiterContext<T>, facts: HeldFacts) {
    this.#context = context
    this.#facts = facts
    this.#expiresAt = facts.expiresAt
  }

  get allowed(): boolean {
    return this.#facts.allowed
  }

  get decision(): Decision {
    return this.#facts.decision as Decision
  }

  get granted(): Readonly<Record<string, number>> {
    const { charges, granted, allowed } = this.#facts
    if (!allowed) return {}
    const { rules } = this.#context.limiter
    // `fromEntries` also makes a property of a rule that is called `__proto__`.
    return Object.fromEntries(
      charges.flatMap(({ rule, least }, i) => (least === undefined ? [] : [[rules[rule].name, granted[i]]])),
    )
  }

  get expiresAt(): number {
    return this.#expiresAt
  }

  get token(): string {
    const { allowed, isCounted } = this.#facts
    if (!allowed || !isCounted) return ''
    return writeToken(this.#context.limiter.rules, { ...this.#facts, expiresAt: this.#expiresAt })
  }

  settle(used?: Cost): Result<T, void> {
    return this.#end('settle', this.#heldCharges(used))
  }

  cancel(): Result<T, void> {
    return this.#end('cancel', this.#heldCharges())
  }

  extend(ttl: Duration): Result<T, void> {
    const ttlMs = ttlOf(ttl)
    const sentMs = this.#context.limiter.clock.now()
    return after(this.#ask('extend', this.#heldCharges(), ttlMs) as void | Promise<void>, () => {
      this.#expiresAt = sentMs + ttlMs
    }) as Result<T, void>
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endQuietly('cancel')
  }

  async endQuietly(operation: 'settle' | 'cancel'): Promise<void> {
    // Units that a settle has failed to charge must not be cancelled.
    if (!this.allowed || this.#wasTried) return
    try {
      await this.#end(operation, this.#heldCharges())
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
    }
  }

  #end(operation: 'settle' | 'cancel', charges: readonly Charge[]): Result<T, void> {
    if (this.#hasEnded) throw ended(operation)
    this.#wasTried = true
    // Also if the outcome is unknown, the hold is not ended again: at worst it expires.
    this.#hasEnded = true
    const fail = (error: unknown): never => {
      // Nothing has ended, so the caller may try again.
      if (error instanceof SluiceError && error.code === 'ERR_STORE_REFUSED') this.#hasEnded = false
      throw error
    }
    try {
      const answer = this.#ask(operation, charges, 0)
      return (answer instanceof Promise ? answer.catch(fail) : answer) as Result<T, void>
    } catch (error) {
      return fail(error)
    }
  }

  #ask(operation: Operation, charges: readonly Charge[], ttlMs: number): Result<T, void> {
    const { allowed, isCounted, terms, decision } = this.#facts
    if (!allowed) throw new SluiceError('ERR_HOLD', `nothing is held, so there is nothing to ${operation}: the call was denied`)
    const { waiting } = this.#context
    // On a synchronous limiter nobody waits for the promise.
    if (!isCounted) return Promise.resolve() as Result<T, void>
    const call: Call = {
      operation,
      charges,
      hold: operation === 'extend' ? { ...terms, ttlMs } : terms,
      source: decision?.source ?? 'store',
    }
    const answer = this.#context.ask(call, (figures) => checkFound(operation, figures))
    waiting?.nudge(call, answer)
    return answer
  }

  /** Returns a charge for each held rule, with the units that were used. −1 stands for all that are held. */
  #heldCharges(used?: Cost): readonly Charge[] {
    const { charges } = this.#facts
    const isByRule = typeof used === 'object' && used !== null
    if (used !== undefined && !isByRule) checkCost(used, 0)
    const units = isByRule ? this.#unitsByRule(used) : undefined
    const held: Charge[] = []
    for (const { rule, key, least } of charges) {
      if (least !== undefined) held.push({ rule, key, amount: units?.get(rule) ?? (used as number | undefined) ?? -1 })
    }
    return held
  }

  /** Returns the units of each named rule, by its index. */
  #unitsByRule(used: Readonly<Record<string, number>>): ReadonlyMap<number, number> {
    const { rules } = this.#context.limiter
    const { charges, leftOut = [] } = this.#facts
    const held = charges.filter(({ least }) => least !== undefined)
    // Before it is copied: the copy of a map or of a promise is an empty object, and all held units would be charged.
    checkCosts(used)
    const known = Object.fromEntries(Object.entries(used).filter(([name]) => !leftOut.includes(name)))
    const costs = costsByRule(
      held.map(({ rule }): Rule => rules[rule]),
      known,
      0,
    )
    return new Map(held.map(({ rule }, i) => [rule, Object.hasOwn(known, rules[rule].name) ? costs[i] : -1]))
  }
}

/** Throws ERR_HOLD if the store has not found the hold. */
function checkFound(operation: Operation, figures: Figures): void {
  if (figures[0] !== 1) throw ended(operation)
}

function ended(operation: Operation): SluiceError {
  return new SluiceError('ERR_HOLD', `there is nothing to ${operation}: the hold was settled or cancelled, or has expired`)
}
