// A random walk that compares a rule's definition with a slow, obvious model of it. All results must be equal.
// A model has no cells. It describes the state and the decision at one moment in the simplest way. The wait is found by asking
// the model about every later millisecond.

import type { Decision } from '../src/core/decision.ts'
import type { Limiter } from '../src/core/limiter.ts'
import type { Rule } from '../src/core/rule.ts'
import { fakeClock } from '../src/testing/fake-clock.ts'
import { type Random, seededRandom } from '../src/testing/random.ts'
import { definedLimiter } from './defined-limiter.ts'

/** The simplest description of a rule. States are never changed, only replaced. */
export interface Model<S> {
  readonly limit: number
  readonly countsDenied?: boolean
  /** The state of a key never hit. */
  readonly fresh: S
  /**
   * Returns the state at `nowMs`. Called before every other method. If the clock has stepped back since the state was written,
   * the result is the same as if the state had been written now.
   */
  settle(state: S, nowMs: number): S
  /** Units used, rounded up. */
  used(state: S, nowMs: number): number
  allows(state: S, nowMs: number, cost: number): boolean
  /** True if the key is as if it had never been hit. */
  isNew(state: S, nowMs: number): boolean
  spend(state: S, nowMs: number, cost: number): S
  put(state: S, nowMs: number, used: number): S
  refund(state: S, nowMs: number, cost: number): S
}

export interface Pair<S> {
  readonly rule: Rule
  readonly model: Model<S>
}

export interface WalkOptions {
  /** Number of random rules, each with a key of its own. */
  readonly rules?: number
  /** Number of calls on each rule. */
  readonly steps?: number
  /** True if the clock may also step back. */
  readonly stepsBack?: boolean
  /**
   * `'every-ms'` (default): every millisecond is tried to find the wait. `'edges'`, for rules with long waits: only the end of
   * the wait and the millisecond before it are tried.
   */
  readonly waits?: 'every-ms' | 'edges'
  /** The calls to make. Default: all. */
  readonly calls?: readonly CallName[]
  /** Calls whose results may differ. */
  readonly mayDiffer?: readonly CallName[]
}

export type CallName = 'hit' | 'peek' | 'peek0' | 'inc' | 'get' | 'set' | 'expiresAt' | 'refund' | 'reset'

const EVERY_CALL: readonly CallName[] = ['peek', 'peek0', 'inc', 'get', 'set', 'expiresAt', 'refund', 'reset']

/** Draws random rules with their models and walks each. Throws at the first difference, with the seed and the last calls. */
export function walkModel<S>(draw: (random: Random) => Pair<S>, options: WalkOptions = {}): void {
  const { rules = 100, steps = 60, stepsBack = false, waits = 'every-ms', calls = EVERY_CALL, mayDiffer = [] } = options
  const random = seededRandom()
  for (let drawn = 0; drawn < rules; drawn++) {
    const { rule, model } = draw(random)
    const clock = fakeClock(random.pick([0, random.whole(0, 1000), 1_763_193_637_123]))
    const { limiter } = definedLimiter(rule, clock)
    const modelled = new ModelledKey(model, waits)
    const trail: string[] = []
    for (let step = 0; step < steps; step++) {
      clock.set(Math.max(0, clock.now() + pauseMs(random, rule, stepsBack)))
      const name = random.whole(0, 2) > 0 ? 'hit' : random.pick(calls)
      const amount = amountOf(random, name, rule.limit)
      trail.push(`${clock.now()} ${name} ${amount}`)
      const got = ask(limiter, name, amount)
      const expected = modelled.ask(clock.now(), name, amount, got)
      if (got !== expected && !mayDiffer.includes(name)) {
        throw new Error(
          `SEED=${random.seed}, rule ${drawn + 1} (${rule.name}, ${JSON.stringify(rule)}), step ${step + 1}:\n` +
            `${trail.slice(-15).join('\n')}\nthe model: ${expected}\n  the rule: ${got}`,
        )
      }
    }
  }
}

/** Moves the clock: mostly a little forward, sometimes to about the end of one or two windows, sometimes back. */
function pauseMs(random: Random, { windowMs }: Rule, stepsBack: boolean): number {
  if (stepsBack && random.whole(0, 11) === 0) {
    return -random.pick([1, 2, random.whole(1, windowMs), windowMs, windowMs + 1, 2 * windowMs, 5 * windowMs, 3_600_000])
  }
  return random.pick([
    0,
    0,
    1,
    1,
    random.whole(0, Math.ceil(windowMs / 10)),
    random.whole(0, Math.ceil(windowMs / 3)),
    random.whole(0, windowMs),
    random.pick([windowMs - 1, windowMs, windowMs + 1, 2 * windowMs - 1, 2 * windowMs, 2 * windowMs + 1, 5 * windowMs]),
  ])
}

function amountOf(random: Random, name: CallName, limit: number): number {
  if (name === 'peek0') return 0
  if (name === 'set') return random.pick([0, random.whole(0, limit), limit, limit + 1, limit + random.whole(0, 5)])
  return random.pick([1, 1, 1, 2, random.whole(1, limit), random.whole(1, limit), limit, limit + 1])
}

function ask(limiter: Limiter<'sync'>, name: CallName, amount: number): string {
  switch (name) {
    case 'hit':
      return figures(limiter.hit('k', { cost: amount }))
    case 'peek':
    case 'peek0':
      return figures(limiter.peek('k', { cost: amount }))
    case 'get':
    case 'expiresAt':
      return String(limiter[name]('k'))
    case 'reset':
      return String(limiter.reset('k'))
    default:
      return String(limiter[name]('k', amount))
  }
}

type Figures = Pick<Decision, 'allowed' | 'limit' | 'remaining' | 'retryAfterMs' | 'resetAfterMs'>

function figures({ allowed, limit, remaining, retryAfterMs, resetAfterMs }: Figures): string {
  return `allowed ${allowed}, limit ${limit}, remaining ${remaining}, retryAfterMs ${retryAfterMs}, resetAfterMs ${resetAfterMs}`
}

/** One key of a limiter, by the model. Only hit, inc, set and refund write. A denied hit writes the settled state. */
class ModelledKey<S> {
  readonly #model: Model<S>
  readonly #waits: 'every-ms' | 'edges'
  #state: S

  constructor(model: Model<S>, waits: 'every-ms' | 'edges') {
    this.#model = model
    this.#waits = waits
    this.#state = model.fresh
  }

  /** Returns the model's result. `claimed` is the rule's result: with 'edges', its waits are tried. */
  ask(nowMs: number, name: CallName, amount: number, claimed: string): string {
    const model = this.#model
    const state = model.settle(this.#state, nowMs)
    switch (name) {
      case 'peek':
      case 'peek0':
        return this.#decide(state, nowMs, amount, model.allows(state, nowMs, amount), claimed)
      case 'get':
        return String(model.used(state, nowMs))
      case 'expiresAt': {
        const resetAfterMs = this.#resetAfterMs(state, nowMs, Number(claimed) - nowMs)
        return String(resetAfterMs === 0 ? 0 : nowMs + resetAfterMs)
      }
      case 'reset':
        this.#state = model.fresh
        return 'undefined'
      case 'hit': {
        const allowed = model.allows(state, nowMs, amount)
        this.#state = allowed || model.countsDenied ? model.spend(state, nowMs, amount) : state
        return this.#decide(this.#state, nowMs, amount, allowed, claimed)
      }
      case 'inc':
        this.#state = model.spend(state, nowMs, amount)
        break
      case 'set':
        this.#state = model.put(state, nowMs, amount)
        break
      case 'refund':
        this.#state = model.refund(state, nowMs, amount)
        break
    }
    return String(model.used(this.#state, nowMs))
  }

  #decide(state: S, nowMs: number, cost: number, allowed: boolean, claimed: string): string {
    const { limit } = this.#model
    return figures({
      allowed,
      limit,
      remaining: Math.max(0, limit - this.#model.used(state, nowMs)),
      retryAfterMs: allowed ? 0 : this.#retryAfterMs(state, nowMs, cost, numberAfter('retryAfterMs', claimed)),
      resetAfterMs: this.#resetAfterMs(state, nowMs, numberAfter('resetAfterMs', claimed)),
    })
  }

  #retryAfterMs(state: S, nowMs: number, cost: number, claimedMs: number): number {
    const model = this.#model
    if (!model.allows(model.settle(model.fresh, nowMs), nowMs, cost)) return Number.POSITIVE_INFINITY
    return this.#first((ms) => model.allows(model.settle(state, nowMs + ms), nowMs + ms, cost), claimedMs)
  }

  #resetAfterMs(state: S, nowMs: number, claimedMs: number): number {
    const model = this.#model
    if (model.isNew(state, nowMs)) return 0
    return this.#first((ms) => model.isNew(model.settle(state, nowMs + ms), nowMs + ms), claimedMs)
  }

  /**
   * Returns the first millisecond from 1 on that holds; with 'edges', the claimed one if it holds and the one before does not.
   */
  #first(holds: (ms: number) => boolean, claimedMs: number): number {
    if (this.#waits === 'edges') {
      if (!(claimedMs >= 1)) return Number.NaN
      return holds(claimedMs) && !holds(claimedMs - 1) ? claimedMs : Number.NaN
    }
    for (let ms = 1; ms <= 100_000; ms++) if (holds(ms)) return ms
    throw new Error('the model waits for more than 100 s: draw smaller numbers')
  }
}

function numberAfter(label: string, text: string): number {
  return Number(new RegExp(`${label} (\\S+?)(?:,|$)`).exec(text)?.[1])
}
