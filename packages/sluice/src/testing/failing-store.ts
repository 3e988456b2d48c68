// A store behind promises that answers, fails or keeps silent as a test plans it. Its answers are those of the rules' definitions.
// Invariant: everything that the store is asked goes through `ask`, so each plan holds for all of it.

import type { Call } from '../core/call.ts'
import type { TimerClock } from '../core/clock.ts'
import { SluiceError } from '../core/errors.ts'
import type { Store } from '../core/store.ts'
import { storeGuard } from '../failure/store-health.ts'
import { definitionStore } from './definition-store.ts'

/** The fate of a call. */
export type CallPlan =
  /** It is answered at once. */
  | 'answer'
  /** It is not made and not answered until `release()`. */
  | 'stall'
  /** It is not made, and fails with `ERR_STORE_REFUSED`. */
  | 'refuse'
  /** It is not made, and fails with `ERR_STORE_UNKNOWN`. */
  | 'lose-call'
  /** It is made, and fails with `ERR_STORE_UNKNOWN`. */
  | 'lose-answer'
  /** It is not made, and fails with `ERR_STORE_FATAL`. */
  | 'fatal'
  /** It is not made, and its promise is rejected with this. */
  | { readonly fail: unknown }
  /** It is not made, and throws this instead of returning a promise. */
  | { readonly throw: unknown }
  /** It is made after `thereMs`, and answered `backMs` after that. Timers are the clock's. */
  | { readonly thereMs: number; readonly backMs: number }

/** A call that the store has got. */
export interface StoreCall {
  readonly method: 'ask' | 'clean' | 'size'
  /** The call that the limiter made. */
  readonly call?: Call
  /** When it came, by the store's clock. */
  readonly atMs: number
  /** The answer, once the call is made; also if it is lost or still on its way back. */
  readonly answer?: unknown
}

export interface FailingStore extends Store<'async'> {
  /** The fate of the calls to come; a function decides for each. */
  plan: CallPlan | ((call: StoreCall) => CallPlan)
  /** Every call so far, in order. */
  readonly calls: readonly StoreCall[]
  /** Makes and answers the first `count` calls that stall, or all of them. */
  release(count?: number): void
}

export interface FailingStoreOptions {
  /** The part of the store that a key belongs to, where parts fail each by itself. */
  readonly partOf?: (key: string) => string
}

const ERRORS = {
  refuse: ['ERR_STORE_REFUSED', 'the store is busy'],
  'lose-call': ['ERR_STORE_UNKNOWN', 'the connection was lost'],
  'lose-answer': ['ERR_STORE_UNKNOWN', 'the connection was lost'],
  fatal: ['ERR_STORE_FATAL', 'the store denies access'],
} as const

/** A double for tests of programs that must live with a store that fails. It answers until `plan` says otherwise. */
export function failingStore(clock: TimerClock, { partOf }: FailingStoreOptions = {}): FailingStore {
  const inner = definitionStore(clock)
  const calls: StoreCall[] = []
  const stalled: (() => void)[] = []
  const pause = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve))

  function ask<T>(asked: Pick<StoreCall, 'method' | 'call'>, answer: () => T): Promise<T> {
    const call: { -readonly [Field in keyof StoreCall]: StoreCall[Field] } = { ...asked, atMs: clock.now() }
    calls.push(call)
    const plan = typeof store.plan === 'function' ? store.plan(call) : store.plan
    const make = (): T => {
      const made = answer()
      call.answer = made
      return made
    }
    if (typeof plan === 'object' && 'throw' in plan) throw plan.throw
    return follow(plan, make)
  }

  async function follow<T>(plan: Exclude<CallPlan, { throw: unknown }>, make: () => T): Promise<T> {
    if (plan === 'answer') return make()
    if (plan === 'stall') return new Promise((resolve) => void stalled.push(() => resolve(make())))
    if (typeof plan === 'string') {
      if (plan === 'lose-answer') make()
      const [code, message] = ERRORS[plan]
      throw new SluiceError(code, message)
    }
    if ('fail' in plan) throw plan.fail
    await pause(plan.thereMs)
    const made = make()
    await pause(plan.backMs)
    return made
  }

  const store: FailingStore = {
    timing: 'async',
    clock,
    guard: storeGuard(clock),
    plan: 'answer',
    calls,
    release(count = stalled.length) {
      for (const answer of stalled.splice(0, count)) answer()
    },
    tally(rules) {
      const tally = inner.tally(rules)
      return {
        ask: (call) => ask({ method: 'ask', call }, () => tally.ask(call)),
        ...(partOf && { partsOf: ({ charges }: Call) => [...new Set(charges.map(({ key }) => partOf(key)))] }),
      }
    },
    clean: () => ask({ method: 'clean' }, () => inner.clean()),
    get size() {
      return ask({ method: 'size' }, () => inner.size)
    },
    close: async () => {},
  }
  return store
}
