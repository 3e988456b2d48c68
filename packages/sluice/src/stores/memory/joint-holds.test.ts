// The short way of holds on several rules, beside the general way, beside limiters of one of the rules over the same store, and beside
// the definitions.

import { describe, expect, test } from 'vitest'
import type { Hold, ReserveOptions } from '../../core/reserving.ts'
import type { Rule } from '../../core/rule.ts'
import type { Subject } from '../../core/subject.ts'
import { PlainHold } from '../../holds/plain-hold.ts'
import {
  concurrency,
  createLimiter,
  fixedWindow,
  holds,
  memoryStore,
  SluiceError,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../index.ts'
import { definitionStore, everyRule, exampleRule, fakeClock } from '../../testing/index.ts'
import { type Random, seededRandom } from '../../testing/random.ts'
import type { AnyLimiter } from '../../testing/walk.ts'

const MOST = 4

const DAY_MS = 86_400_000

/** Holds that a walk remembers. A forgotten one expires. */
const MOST_OPEN = 6

type Pair<V> = readonly [tested: V, defined: V]

interface WalkOptions {
  /** The rules of each limiter. All limiters share a store. */
  readonly sets: readonly (readonly Rule[])[]
  readonly subjectOf: (random: Random) => Subject
  readonly windowMs: number
  readonly steps: number
}

/** Makes the same calls on limiters over a memory store and over the definitions. Returns the number of holds of the short way. */
function walk({ sets, subjectOf, windowMs, steps }: WalkOptions): number {
  const random = seededRandom()
  const clock = fakeClock()
  const stores = [memoryStore({ clock }), definitionStore(clock)]
  const limiters = sets.map((rules) =>
    stores.map((store): AnyLimiter => createLimiter({ rules, store, holds: holds({ most: MOST }) })),
  ) as unknown as readonly Pair<AnyLimiter>[]
  const open: Pair<Hold<'sync'>>[] = []
  let short = 0
  for (let step = 0; step < steps; step++) {
    const where = `SEED=${random.seed}, step ${step}`
    const compare = <V>([tested, defined]: Pair<V>, call: (each: V) => unknown): Pair<unknown> => {
      const outcomes = [outcomeOf(() => call(tested)), outcomeOf(() => call(defined))] as const
      // Most are equal, and `expect` is slow.
      if (shown(outcomes[0]) !== shown(outcomes[1])) expect(shown(outcomes[0]), where).toBe(shown(outcomes[1]))
      return outcomes
    }
    clock.set(Math.max(0, clock.now() + randomMs(random, windowMs)))
    const set = random.whole(0, sets.length - 1)
    const subject = subjectOf(random)
    const choice = random.whole(0, 9)
    if (choice < 5) {
      const options = randomOptions(random, sets[set], windowMs)
      const pair = compare(limiters[set], (limiter) => limiter.reserve(subject, options)) as Pair<Hold<'sync'>>
      if (pair[0] instanceof PlainHold && sets[set].length > 1) short += 1
      if (pair[0].allowed !== true) continue
      if (open.length === MOST_OPEN) open.splice(random.whole(0, MOST_OPEN - 1), 1)
      open.push(pair)
    } else if (choice < 9 && open.length > 0) {
      const end = randomEnd(random, windowMs)
      const pair = random.pick(open)
      compare(pair, end)
      compare(pair, (hold) => hold.expiresAt)
    } else if (random.whole(0, 2) === 0) compare(limiters[set], (limiter) => limiter.reset(subject))
    else if (!sets[set].some(({ isHeld }) => isHeld)) compare(limiters[set], (limiter) => limiter.hit(subject))
    compare(limiters[0], (limiter) => limiter.peek(subject))
  }
  return short
}

function randomMs(random: Random, windowMs: number): number {
  const isJump = random.whole(0, 30) === 0
  return random.pick([0, 0, 1, random.whole(0, 20), random.whole(0, Math.ceil(windowMs / 4)), isJump ? -windowMs : 3])
}

function randomOptions(random: Random, rules: readonly Rule[], windowMs: number): ReserveOptions {
  const { name, limit } = random.pick(rules)
  return {
    ...random.pick<ReserveOptions>([
      { hold: random.pick([1, 2, limit, limit + 1]) },
      { hold: { [name]: random.pick([1, 2, limit]) } },
      { hold: Object.fromEntries(rules.map((rule) => [rule.name, 1])) },
      { hold: { [name]: 2 }, cost: { [rules[0].name]: 2 } },
      { hold: 2, atLeast: 1 },
      { hold: { [name]: 0 } },
      {},
    ]),
    ttl: random.pick([1, Math.ceil(windowMs / 3), windowMs, 2 * windowMs]),
    ...(random.whole(0, 2) === 0 ? { expired: 'release' as const } : {}),
  }
}

function randomEnd(random: Random, windowMs: number): (hold: Hold<'sync'>) => unknown {
  const used = random.pick([undefined, undefined, 0, 1, 30])
  const ttl = random.whole(1, 2 * windowMs)
  const byRule = ({ granted }: Hold<'sync'>) => ({ [Object.keys(granted)[0]]: used ?? 2 })
  return random.pick<(hold: Hold<'sync'>) => unknown>([
    (hold) => hold.settle(used),
    (hold) => hold.settle(used),
    (hold) => hold.settle(byRule(hold)),
    (hold) => hold.cancel(),
    (hold) => hold.extend(ttl),
  ])
}

/** Returns everything that a caller sees of a hold, except its token, which is random. */
function shown(outcome: unknown): unknown {
  const isHold = typeof outcome === 'object' && outcome !== null && 'granted' in outcome
  if (!isHold) return JSON.stringify(outcome)
  const { allowed, granted, expiresAt, decision } = outcome as Hold<'sync'>
  return JSON.stringify({ allowed, granted, expiresAt, decision })
}

function outcomeOf(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    if (error instanceof SluiceError) return `${error.code} ${error.message}`
    throw error
  }
}

describe('a walk of several limiters over one store is that of the definitions', () => {
  const places = exampleRule('concurrency')
  const other = fixedWindow({ limit: 7, window: 700, name: 'other' })
  const key = (random: Random) => random.pick(['ada', 'bob', '\0'])
  test.each([...everyRule(), places].map((rule) => [rule.name, rule] as const))('%s', (_, rule) => {
    const sets = [[rule, other], [other, rule], [rule], [other]]
    const short = walk({ sets, subjectOf: key, windowMs: Math.min(rule.windowMs, DAY_MS), steps: 300 })
    if (rule.log !== undefined) expect(short).toBe(0)
  })

  test('of subjects with several keys', () => {
    const user = fixedWindow({ limit: 6, window: 1000, name: 'user', per: 'user' })
    const org = tokenBucket({ capacity: 40, refill: 10, every: 1000, name: 'org', per: 'org' })
    const streams = concurrency({ limit: 3, ttl: 1000, name: 'streams', per: 'org' })
    const pair = slidingWindow({ limit: 9, window: 1000, name: 'pair', per: ['org', 'user'] })
    const everybody = fixedWindow({ limit: 30, window: 500, name: 'everybody', per: [] })
    const subjectOf = (random: Random): Subject => ({ user: random.pick(['a', 'b']), org: random.pick(['x', 'y']) })
    const sets = [
      [user, org, streams],
      [pair, everybody],
      [org, user],
    ]
    expect(walk({ sets, subjectOf, windowMs: 1000, steps: 1500 })).toBeGreaterThan(20)
  })
})

describe('a hold of the short way on several rules', () => {
  const requests = fixedWindow({ limit: 5, window: '1m', name: 'requests' })
  const tokens = fixedWindow({ limit: 100, window: '1h', name: 'tokens' })
  const streams = concurrency({ limit: 3, ttl: '30s', name: 'streams' })
  const setUp = (rules: readonly Rule<undefined>[] = [requests, tokens, streams]) => {
    const clock = fakeClock()
    const store = memoryStore({ clock })
    const limiter = createLimiter({ rules, store, holds: holds() })
    // The first call of a key makes its rows, in the general way.
    limiter.reserve('ada', { hold: { tokens: 1 } }).cancel()
    return { clock, store, limiter, used: () => rules.map(({ name }) => limiter.get('ada', { rule: name })) }
  }

  test('charges some rules, holds others, and settles them by name', () => {
    const { limiter, used } = setUp()
    const hold = limiter.reserve('ada', { hold: { tokens: 40 } })
    expect(hold).toBeInstanceOf(PlainHold)
    expect(hold.granted).toEqual({ tokens: 40, streams: 1 })
    expect(hold.decision.rules.map(({ remaining }) => remaining)).toEqual([3, 60, 2])
    expect(used()).toEqual([2, 40, 1])
    hold.settle({ tokens: 12 })
    expect(used()).toEqual([2, 12, 0])
    expect(outcomeOf(() => hold.settle())).toMatch(/^ERR_HOLD /)
  })

  test('is denied by one rule, and leaves no trace on the others', () => {
    const { limiter, used } = setUp()
    for (let i = 0; i < 3; i++) limiter.reserve('ada', { hold: { tokens: 1 } })
    const before = used()
    expect(limiter.reserve('ada', { hold: { tokens: 1 } }).allowed).toBe(false)
    expect(used()).toEqual(before)
    expect(before).toEqual([4, 3, 3])
  })

  test('refuses units that are none, and stays open', () => {
    const { limiter, used } = setUp()
    const hold = limiter.reserve('ada', { hold: { tokens: 40 } })
    const bad = [
      ...[-1, -0, 1.5, Number.NaN, 2 ** 53, '1', 1n, true, null, [1], () => 1, Symbol('1')],
      ...[{ tokens: -1 }, { tokens: -0 }, { tokens: '1' }, { requests: 1 }, { constructor: 1 }, JSON.parse('{"__proto__":1}')],
      ...[Object.create({ tokens: 1 }), new Map([['tokens', 1]])],
    ]
    for (const used of bad) expect(outcomeOf(() => hold.settle(used as never))).toMatch(/^ERR_(COST|RULE_NAME) /)
    expect(used()).toEqual([2, 40, 1])
    hold.settle({})
    expect(used()).toEqual([2, 40, 0])
  })

  test('has a token, with which it ends once', () => {
    const { limiter, used } = setUp()
    const hold = limiter.reserve('ada', { hold: { tokens: 40 } })
    limiter.openHold(hold.token).settle({ tokens: 3 })
    expect(outcomeOf(() => hold.cancel())).toMatch(/^ERR_HOLD /)
    expect(used()).toEqual([2, 3, 0])
  })

  test('ends on all rules or on none, if one of its parts was reset', () => {
    const { limiter, store, used } = setUp()
    const hold = limiter.reserve('ada', { hold: { tokens: 40 } })
    createLimiter({ rules: streams, store, holds: holds() }).reset('ada')
    expect(outcomeOf(() => hold.settle({ tokens: 1 }))).toMatch(/^ERR_HOLD /)
    expect(used()).toEqual([2, 40, 0])
  })

  test('is not changed by a clock or a getter that calls the limiter', () => {
    const clock = fakeClock()
    let inner: () => void = () => {}
    const now = (): number => {
      const run = inner
      inner = () => {}
      run()
      return clock.now()
    }
    const limiter = createLimiter({ rules: [requests, tokens], store: memoryStore({ clock: { now } }), holds: holds() })
    for (const key of ['ada', 'bob']) limiter.reserve(key, { hold: 1 }).cancel()
    const callBob = (): void => void limiter.reserve('bob', { hold: 5, ttl: 1, expired: 'release' })
    inner = callBob
    expect(limiter.reserve('ada', { hold: { tokens: 7 } }).granted).toEqual({ tokens: 7 })
    const hold = {
      get tokens() {
        limiter.reset('bob')
        limiter.reserve('bob', { hold: 4 })
        return 2
      },
    }
    expect(limiter.reserve('ada', { hold }).granted).toEqual({ tokens: 2 })
    expect(['requests', 'tokens'].map((rule) => limiter.get('ada', { rule }))).toEqual([2, 9])
    clock.advance(1)
    expect(['requests', 'tokens'].map((rule) => limiter.get('bob', { rule }))).toEqual([4, 4])
  })

  test('is not made if a rule keeps a log, or for a closed limiter', () => {
    const { limiter } = setUp()
    const logged = setUp([tokens, slidingLog({ limit: 9, window: 1000, name: 'log' })]).limiter
    expect(logged.reserve('ada', { hold: 1 })).not.toBeInstanceOf(PlainHold)
    const hold = limiter.reserve('ada', { hold: 1 })
    limiter.close()
    for (const call of [() => hold.settle(), () => limiter.reserve('ada', { hold: 1 })])
      expect(outcomeOf(call)).toMatch(/^ERR_CLOSED /)
  })
})
