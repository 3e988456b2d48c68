// Tools of the store suite: a limiter over a fresh store for each test, and comparisons without a test runner.

import type { Rule } from '../core/rule.ts'
import type { Store } from '../core/store.ts'
import type { Subject } from '../core/subject.ts'
import { createLimiter } from '../create-limiter.ts'
import { definitionStore } from './definition-store.ts'
import { type FakeClock, fakeClock } from './fake-clock.ts'
import { seededRandom } from './random.ts'
import { type AnyLimiter, walk } from './walk.ts'

/** A test runner: `describe` and `test`, as in vitest, jest and node:test. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown
  test(name: string, body: () => Promise<void>): unknown
}

/** Makes a fresh, empty store on `clock`. Called once for each test. */
export type MakeStore = (clock: FakeClock) => Store | Promise<Store>

export interface SuiteOptions {
  readonly runner: TestRunner
  readonly makeStore: MakeStore
  readonly steps: number
  readonly seed: number | undefined
  readonly decidesInParts: boolean
}

type Body = (limiter: AnyLimiter, clock: FakeClock, store: Store) => Promise<void>

export class SuiteTools {
  readonly describe: TestRunner['describe']
  readonly #options: SuiteOptions

  constructor(options: SuiteOptions) {
    this.#options = options
    this.describe = (name, body) => options.runner.describe(name, body)
  }

  /** Defines a test with a limiter over a store of its own, on a clock of its own. */
  limiterTest(title: string, rules: readonly Rule[], body: Body): void {
    this.storeTest(title, async (store, clock) => {
      const limiter = createLimiter({ rules, store })
      try {
        await body(limiter, clock, store)
      } finally {
        await limiter.close()
      }
    })
  }

  get options(): SuiteOptions {
    return this.#options
  }

  /** Defines a test with a store and a clock of its own. */
  storeTest(title: string, body: (store: Store, clock: FakeClock) => Promise<void>): void {
    const { runner, makeStore } = this.#options
    runner.test(title, async () => {
      const clock = fakeClock()
      const store = await makeStore(clock)
      try {
        await body(store, clock)
      } finally {
        await store.close()
      }
    })
  }

  /** Defines a test that compares a random walk with the definitions. */
  walkTest(title: string, rules: readonly Rule[], subjects?: readonly Subject[]): void {
    const { steps, seed, decidesInParts } = this.#options
    const isForward = decidesInParts && rules[0].per !== undefined
    this.limiterTest(title, rules, async (limiter, clock) => {
      const defined = createLimiter({ rules, store: definitionStore(clock) })
      await walk({ tested: limiter, defined, clock, random: seededRandom(seed), steps, subjects, isForward })
    })
  }
}

export function equal(what: string, got: unknown, expected: unknown): void {
  if (got !== expected) throw new Error(`${what}: expected ${expected}, got ${got}`)
}

/** Passes if the call fails with a SluiceError. */
export async function refused(what: string, call: () => Promise<unknown>): Promise<void> {
  const error = await call().then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof Error) || error.name !== 'SluiceError') throw new Error(`${what}: expected a SluiceError, got ${error}`)
}
