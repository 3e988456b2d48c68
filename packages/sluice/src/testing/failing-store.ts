// An asynchronous store that answers, fails or does not answer, as a test plans it. Its answers come from the rules' definitions.
// Invariant: every call goes through `ask`, so a plan holds for all calls.

import type { Call } from '../core/call.ts'
import type { TimerClock } from '../core/clock.ts'
import { SluiceError } from '../core/errors.ts'
import type { Store } from '../core/store.ts'
import { storeGuard } from '../failure/store-health.ts'
import { definitionStore } from './definition-store.ts'

/** The planned outcome of a call. */
export type CallPlan =
  /** The call is answered at once. */
  | 'answer'
  /** The call is not executed and not answered before `release()`. */
  | 'stall'
  /** The call is not executed, and fails with `ERR_STORE_REFUSED`. */
  | 'refuse'
  /** The call is not executed, and fails with `ERR_STORE_UNKNOWN`. */
  | 'lose-call'
  /** The call is executed, and fails with `ERR_STORE_UNKNOWN`. */
  | 'lose-answer'
  /** The call is not executed, and fails with `ERR_STORE_FATAL`. */
  | 'fatal'
  /** The call is not executed, and its promise rejects with this value. */
  | { readonly fail: unknown }
  /** The call is not executed, and throws this value instead of returning a promise. */
  | { readonly throw: unknown }
  /** The call is executed after `thereMs`, and answered `backMs` later, with the clock's timers. */
  | { readonly thereMs: number; readonly backMs: number }

/** A call that the store has received. */
export interface StoreCall {
  readonly method: 'ask' | 'clean' | 'size'
  /** The call that the limiter made. */
  readonly call?: Call
  /** Time at which it was received, by the store's clock. */
  readonly atMs: number
  /** The answer, once the call has been executed; also if the answer is lost or still under way. */
  readonly answer?: unknown
}

export interface FailingStore extends Store<'async'> {
  /** The plan for the next calls, or a function that plans each of them. */
  plan: CallPlan | ((call: StoreCall) => CallPlan)
  /** Every call so far, in order. */
  readonly calls: readonly StoreCall[]
  /** Executes and answers the first `count` stalled calls, or all of them. */
  release(count?: number): void
}

export interface FailingStoreOptions {
  /** Returns the part of the store that keeps a key, for a store whose parts fail independently. */
  readonly partOf?: (key: string) => string
}

const ERRORS = {
  refuse: ['ERR_STORE_REFUSED', 'the store is busy'],
  'lose-call': ['ERR_STORE_UNKNOWN', 'the connection was lost'],
  'lose-answer': ['ERR_STORE_UNKNOWN', 'the connection was lost'],
  fatal: ['ERR_STORE_FATAL', 'the store denies access'],
} as const

/** Makes a store for tests of programs whose store may fail. By default it answers every call. */
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
