// The suite that every store must pass: known answers, a seeded walk against the definitions, a stampede, and the guarantees of
// a decision, for every rule.

import { makeRule } from '../algorithms/catalogue.ts'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import type { Decision } from '../core/decision.ts'
import { everyRule, exampleRule } from './example-rules.ts'
import type { FakeClock } from './fake-clock.ts'
import { holdTests } from './hold-suite.ts'
import { replay } from './known-answers.ts'
import { KNOWN_ANSWERS } from './known-answers-data.ts'
import { subjectTests } from './subject-suite.ts'
import { equal, type MakeStore, refused, SuiteTools, type TestRunner } from './suite-tools.ts'
import type { AnyLimiter } from './walk.ts'

export interface StoreSuiteOptions {
  /** The test runner. Default: the global `describe` and `test`, or node:test if there are none. */
  readonly runner?: TestRunner
  /** Steps of the random walk over each set of rules. Default: 2,000. */
  readonly steps?: number
  /**
   * True if a call on several keys is made part by part, as in a cluster. Walks over such keys then never step the clock back: a
   * denied call does not settle the states of such a store. Default: false.
   */
  readonly decidesInParts?: boolean
  /** False for a store whose script does not translate holds. Default: true. */
  readonly holds?: boolean
  /** The walk's seed. A failure prints it. Default: the environment variable SEED, or a random number. */
  readonly seed?: number
}

/** Defines the tests of a store: `storeSuite('my store', (clock) => myStore({ clock }))`. */
export function storeSuite(name: string, makeStore: MakeStore, options: StoreSuiteOptions = {}): void {
  const { runner = globalRunner(), steps = 2000, seed, decidesInParts = false, holds = true } = options
  const tools = new SuiteTools({ runner, makeStore, steps, seed, decidesInParts })
  const { describe } = tools

  const plain = exampleRule('fixed-window')
  const log = exampleRule('sliding-log')
  const sliding = exampleRule('sliding-window')

  describe(`store: ${name}`, () => {
    describe('gives the known answers', () => {
      for (const answer of KNOWN_ANSWERS) {
        tools.limiterTest(answer.name, [makeRule(answer.rule)], (limiter, clock) => replay(answer, limiter, clock))
      }
    })

    describe('answers as the definition does, also when the clock steps back', () => {
      for (const rule of everyRule()) tools.walkTest(rule.name, [rule])
      tools.walkTest('three rules at once', [plain, sliding, exampleRule('token-bucket')])
      const countingDenied = exampleRule('fixed-window', 'counting denied')
      tools.walkTest('a rule that counts denied hits among others', [log, countingDenied, exampleRule('gcra')])
      tools.walkTest('keys that are strange', [plain, exampleRule('token-bucket', 'stepped')], STRANGE_KEYS)
    })

    describe('lets exactly the limit through a stampede', () => {
      for (const rule of [
        ...everyRule().filter(({ countsDenied }) => !countsDenied),
        fixedWindow({ limit: 100, window: '1h' }),
      ]) {
        tools.limiterTest(rule.name, [rule], async (limiter) => {
          const decisions = await Promise.all(Array.from({ length: 3 * rule.limit }, () => limiter.hit('stampede')))
          equal('allowed', decisions.filter(({ allowed }) => allowed).length, rule.limit)
        })
      }
    })

    describe('names the wait exactly', () => {
      for (const rule of everyRule()) {
        tools.limiterTest(rule.name, [rule], async (limiter, clock) => {
          for (let cost = 1; cost <= rule.limit; cost++) {
            const denied = await hitUntilDenied(limiter, clock, cost)
            clock.advance(denied.retryAfterMs - 1)
            equal(`allowed 1 ms early, cost ${cost}`, (await limiter.peek('k', { cost })).allowed, false)
            clock.advance(1)
            equal(`allowed in time, cost ${cost}`, (await limiter.hit('k', { cost })).allowed, true)
          }
        })
      }
    })

    describe('keeps its other promises', () => {
      for (const rule of everyRule()) {
        tools.limiterTest(`what remains can be spent at once: ${rule.name}`, [rule], async (limiter, clock) => {
          for (const pauseMs of [0, 333, 1, 250, 77]) {
            clock.advance(pauseMs)
            const { remaining } = await limiter.hit('k')
            if (remaining === 0) continue
            equal('one more than remains', (await limiter.peek('k', { cost: remaining + 1 })).allowed, false)
            equal('what remains', (await limiter.peek('k', { cost: remaining })).allowed, true)
          }
        })
        tools.limiterTest(`after resetAfterMs a key is as new: ${rule.name}`, [rule], async (limiter, clock) => {
          const { resetAfterMs } = await limiter.hit('k', { cost: rule.limit })
          equal('expiresAt', await limiter.expiresAt('k'), clock.now() + resetAfterMs)
          clock.advance(resetAfterMs - 1)
          equal('still there', (await limiter.expiresAt('k')) > 0, true)
          clock.advance(1)
          equal('gone', await limiter.expiresAt('k'), 0)
          equal('used', await limiter.get('k'), 0)
        })
      }

      tools.limiterTest('of several rules, a denied hit charges none', [plain, log, sliding], async (limiter) => {
        await limiter.hit('k', { cost: 4 })
        equal('denied', (await limiter.hit('k', { cost: 2 })).allowed, false)
        for (const { name } of limiter.rules) equal(`used of ${name}`, await limiter.get('k', { rule: name }), 4)
      })

      tools.limiterTest('a cost above the limit never passes and leaves nothing', [plain], async (limiter) => {
        const decision = await limiter.hit('k', { cost: 6 })
        equal('retryAfterMs', decision.retryAfterMs, Number.POSITIVE_INFINITY)
        equal('expiresAt', await limiter.expiresAt('k'), 0)
      })

      tools.limiterTest('any string is a key of its own', [plain], async (limiter) => {
        for (const [i, key] of STRANGE_KEYS.entries()) await limiter.set(key, i % 5)
        for (const [i, key] of STRANGE_KEYS.entries()) equal(JSON.stringify(key.slice(0, 40)), await limiter.get(key), i % 5)
      })

      tools.limiterTest('a reset key is as new, and no other is', [plain, log], async (limiter) => {
        await limiter.hit('k', { cost: 5 })
        await limiter.hit('other', { cost: 5 })
        await limiter.reset('k')
        equal('the key', (await limiter.peek('k', { cost: 5 })).allowed, true)
        equal('the other', (await limiter.peek('other')).allowed, false)
      })

      tools.limiterTest('bad input is refused and nothing is written', [plain], async (limiter) => {
        for (const cost of [Number.NaN, -1, 0, 0.5, Number.POSITIVE_INFINITY, 2 ** 53, -0]) {
          await refused(`cost ${cost}`, async () => limiter.hit('k', { cost }))
        }
        for (const key of ['', undefined, null, 42, {}]) await refused(`key ${key}`, async () => limiter.hit(key as string))
        equal('expiresAt', await limiter.expiresAt('k'), 0)
      })
    })

    subjectTests(tools)
    if (holds) holdTests(tools)
  })
}

const STRANGE_KEYS: readonly string[] = [
  'a:b',
  'a',
  'b',
  '{a}:b',
  '}{a',
  '__proto__',
  'constructor',
  'toString',
  '\u0000',
  'a\r\nflush_all\r\n',
  ' ',
  'é',
  'e\u0301',
  '😀',
  '\ud83d',
  '\ude00',
  'ÿ',
  'Ā',
  '"',
  "'",
  '\\',
  '*',
  'x'.repeat(10_000),
  'x'.repeat(10_001),
]

/** Hits until a hit is denied. Each hit may move the clock a little, so that logs and windows have some history. */
async function hitUntilDenied(limiter: AnyLimiter, clock: FakeClock, cost: number): Promise<Decision> {
  for (let hits = 0; hits < 100; hits++) {
    const decision = await limiter.hit('k', { cost })
    if (!decision.allowed) return decision
    clock.advance(hits % 3)
  }
  throw new Error('100 hits without a pause were all allowed')
}

/** node:test is not imported, because workerd and browsers do not have it. */
function globalRunner(): TestRunner {
  const { describe, test } = globalThis as Partial<TestRunner>
  if (describe && test) return { describe, test }
  const runner = globalThis.process?.getBuiltinModule?.('node:test')
  if (runner !== undefined) return runner
  throw new Error('storeSuite needs the option runner here: there is neither a global describe and test, nor node:test')
}
