// Compares the PL/pgSQL translations with the definitions: the suite, calls with a key and an amount for each charge, numbers near
// 2^53, and rules whose numbers change while their keys are in use.

import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../../test/rounds.ts'
import { clientFor, freshTable, openPool, patientLimiter, realPostgres } from '../../../test/postgres/real-postgres.ts'
import { RECORD_RULES, recordWalk } from '../../../test/record-walk.ts'
import { type Call, type Charge, FIGURES, type Figures } from '../../core/call.ts'
import type { TimerClock } from '../../core/clock.ts'
import type { Rule } from '../../core/rule.ts'
import {
  createLimiter,
  fixedWindow,
  gcra,
  type Limiter,
  leakyBucket,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../index.ts'
import { definitionStore, everyRule, fakeClock, storeSuite } from '../../testing/index.ts'
import { type Random, seededRandom } from '../../testing/random.ts'
import { walk } from '../../testing/walk.ts'
import { type PostgresStore, postgresStore } from './postgres-store.ts'
import { postgresSchema } from './postgres-table.ts'

const server = realPostgres()
const connected = clientFor(() => openPool(server.it.url))

const table = freshTable()

/**
 * Makes stores on one table, which is emptied for each, because making functions takes longer than most tests. None of them sweeps: their
 * clocks are years apart, so that one would delete the rows of another.
 */
async function functionStore(clock: TimerClock): Promise<PostgresStore> {
  await connected.it.run(`${postgresSchema({ table })};DELETE FROM ${table}`)
  return postgresStore(connected.it.client, { clock, table, mode: 'function', sweepEveryMs: 0 })
}

storeSuite('Postgres, functions', (clock) => functionStore(clock), { steps: roundsOf({ usual: 100, long: 5000 }) })

/** Limiters over Postgres and over the definitions, on one clock, for any number of rules over the same states. */
async function bothStores() {
  const clock = fakeClock()
  const tested = await functionStore(clock)
  const defined = definitionStore(clock)
  const limiters = (rules: Rule): { tested: Limiter; defined: Limiter } => ({
    tested: patientLimiter(rules, tested) as unknown as Limiter,
    defined: createLimiter({ rules, store: defined }),
  })
  return { clock, limiters }
}

/** A call on one or several of the rules. A refund may name the end of a state that was charged before. */
function randomCall(rules: readonly Rule[], ends: Map<string, number>, random: Random): Call {
  const operation = random.pick([
    'hit',
    'timedHit',
    'timedHit',
    'timedHit',
    'peek',
    'inc',
    'set',
    'refund',
    'refund',
    'reset',
    'get',
    'expiresAt',
  ] as const)
  const isOne = ['inc', 'set', 'get', 'expiresAt'].includes(operation)
  const first = random.whole(0, rules.length - 1)
  const chosen = isOne ? [first] : [...rules.keys()].filter((rule) => rule === first || random.whole(0, 2) === 0)
  const hasEnds = operation === 'refund' && random.whole(0, 3) > 0
  const same = random.pick([undefined, 1])
  const charges = chosen.map((rule): Charge => {
    const key = random.pick(['ada', 'bob'])
    const amount = same ?? random.whole(operation === 'set' ? 0 : 1, 3)
    const endsAt = (ends.get(`${rule} ${key}`) ?? 0) + random.pick([0, 0, 0, 0, -1, 1, -70])
    return hasEnds ? { rule, key, amount, endsAt: Math.max(0, endsAt) } : { rule, key, amount }
  })
  return { operation, charges }
}

/** Notes the ends of the states that a timed hit has charged. */
function noteEnds({ charges }: Call, figures: Figures, ends: Map<string, number>): void {
  const nowMs = figures[charges.length * FIGURES]
  charges.forEach(({ rule, key }, i) => {
    ends.set(`${rule} ${key}`, nowMs + figures[i * FIGURES + 2])
  })
}

/** Asks many calls at once, so that commands hold several calls on the same rows. */
async function walkCalls(rules: readonly Rule[], commands: number): Promise<void> {
  const random = seededRandom()
  const clock = fakeClock()
  const tested = (await functionStore(clock)).tally(rules)
  const defined = definitionStore(clock).tally(rules)
  const ends = new Map<string, number>()
  for (let command = 0; command < commands; command++) {
    clock.set(clock.now() + random.pick([0, 0, 1, 5, 40, 300, random.whole(0, 30) === 0 ? random.whole(-900, 1500) : 2]))
    const calls = Array.from({ length: random.whole(1, 6) }, () => randomCall(rules, ends, random))
    const expected = calls.map((call) => defined.ask(call))
    const got = await Promise.all(calls.map((call) => tested.ask(call)))
    expect(got, `SEED=${random.seed}, command ${command}: ${JSON.stringify(calls)}`).toEqual(expected)
    calls.forEach((call, i) => {
      if (call.operation === 'timedHit') noteEnds(call, expected[i], ends)
    })
  }
}

describe('calls on one rule', () => {
  for (const rule of everyRule()) test(rule.name, () => walkCalls([rule], roundsOf({ usual: 80, long: 3000 })))
})

test('calls on several rules', () => walkCalls(everyRule(), roundsOf({ usual: 200, long: 10_000 })))

describe('records', () => {
  for (const [name, rules] of Object.entries(RECORD_RULES)) {
    test(name, async () => {
      const clock = fakeClock()
      const denied = await recordWalk({
        store: await functionStore(clock),
        rules,
        clock,
        random: seededRandom(),
        steps: 300,
        stepsBack: true,
      })
      expect(denied).toBeGreaterThan(10)
    })
  }
})

describe('numbers up to 2^53', () => {
  const LARGEST = 2 ** 53 - 4
  const rules = [
    fixedWindow({ limit: LARGEST, window: '3650d' }),
    fixedWindow({ limit: LARGEST, window: '3650d', anchor: 'clock', countDenied: true, name: 'on the clock' }),
    slidingLog({ limit: LARGEST, window: '3650d' }),
    slidingLog({ limit: LARGEST, window: 40, name: 'a short log' }),
    slidingWindow({ limit: 2 ** 30 - 1, window: 2 ** 22 - 1 }),
    slidingWindow({ limit: 3, window: '3650d', round: 'none' }),
    tokenBucket({ capacity: 90_000_001, refill: 1_000_003, every: 86_399_999 }),
    tokenBucket({ capacity: 4_000_001, refill: 2 ** 31 - 1, every: 2 ** 31 }),
    tokenBucket({ capacity: 2 ** 40 - 1, refill: 2 ** 30 + 1, every: '1d', style: 'stepped' }),
    gcra({ limit: 7, period: '365d', burst: 100 }),
    leakyBucket({ capacity: 1_000_003, leak: 999_983, every: 999_979 }),
  ]
  for (const rule of rules) {
    test(rule.name, async () => {
      const { clock, limiters } = await bothStores()
      await walk({ ...limiters(rule), clock, random: seededRandom(), steps: roundsOf({ usual: 150, long: 5000 }) })
    })
  }
})

test('long logs', async () => {
  const rule = slidingLog({ limit: 400, window: 1000 })
  const random = seededRandom()
  const { clock, limiters } = await bothStores()
  const { tested, defined } = limiters(rule)
  for (let step = 0; step < roundsOf({ usual: 600, long: 10_000 }); step++) {
    clock.set(clock.now() + random.pick([0, 1, 1, 2, 3, random.whole(0, 40) === 0 ? random.whole(-900, 900) : 1]))
    const cost = random.whole(1, random.pick([1, 2, 4, rule.limit]))
    const ask = random.pick<(limiter: Limiter) => unknown>([
      (limiter) => limiter.hit('ada', { cost: Math.min(cost, 3) }),
      ...Array(8).fill((limiter: Limiter) => limiter.hit('ada')),
      (limiter) => limiter.peek('ada', { cost }),
      (limiter) => limiter.inc('ada'),
      (limiter) => limiter.refund('ada', cost),
    ])
    const expected = await ask(defined)
    expect(shown(await ask(tested)), `SEED=${random.seed}, step ${step}`).toEqual(shown(expected))
  }
})

test('logs past their limit', async () => {
  const random = seededRandom()
  const { clock, limiters } = await bothStores()
  const { tested, defined } = limiters(slidingLog({ limit: 2, window: 30 }))
  for (let step = 0; step < roundsOf({ usual: 200, long: 5000 }); step++) {
    clock.set(clock.now() + random.pick([0, 1, 2, 5, 9, 20]))
    const ask = random.pick<(limiter: Limiter) => unknown>([
      (limiter) => limiter.inc('ada', 1 + (step % 3)),
      (limiter) => limiter.inc('ada'),
      (limiter) => limiter.get('ada'),
      (limiter) => limiter.refund('ada', 1),
    ])
    expect(await ask(tested), `SEED=${random.seed}, step ${step}`).toBe(await ask(defined))
  }
})

describe('new options under an old name', () => {
  const name = 'renumbered'
  const windows = [1, 7, 900, 1000, 60_000]
  /** Rates that are too large to be packed into one number. */
  const WIDE_EVERY = [2 ** 37 - 1, 2 ** 39 + 1, 2 ** 39]
  const wide = (random: Random) => ({ refill: random.pick([65_537, 1_000_003]), every: random.pick(WIDE_EVERY) })
  const makers: Readonly<Record<string, (random: Random, limit: number, window: number) => Rule>> = {
    'fixed window': (random, limit, window) =>
      fixedWindow({ name, limit, window, anchor: random.pick(['clock', 'first-hit']), countDenied: random.pick([true, false]) }),
    'sliding log': (_, limit, window) => slidingLog({ name, limit, window }),
    'sliding window': (random, limit, window) =>
      slidingWindow({ name, limit, window, anchor: random.pick(['clock', 'first-hit']), round: random.pick(['down', 'none']) }),
    meter: (random, capacity, every) => tokenBucket({ name, capacity, refill: random.whole(1, 13), every }),
    'stepped meter': (random, capacity, every) =>
      tokenBucket({ name, capacity, refill: random.whole(1, 13), every, style: 'stepped' }),
    'wide meter': (random, capacity) => tokenBucket({ name, capacity, ...wide(random) }),
    'wide stepped meter': (random, capacity) => tokenBucket({ name, capacity, ...wide(random), style: 'stepped' }),
  }
  for (const [algorithm, makeRule] of Object.entries(makers)) {
    test(algorithm, async () => {
      const random = seededRandom()
      const { clock, limiters } = await bothStores()
      for (let change = 0; change < roundsOf({ usual: 30, long: 1000 }); change++) {
        const rule = makeRule(random, random.whole(1, 12), random.pick(windows))
        await walk({ ...limiters(rule), clock, random, steps: random.whole(1, 8), subjects: ['ada'] })
      }
    })
  }
})

function shown(answer: unknown): unknown {
  return typeof answer === 'object' ? { ...answer, source: undefined } : answer
}
