// Compares the translation of core/held-step.ts with the definition, call by call.

import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../../test/rounds.ts'
import { clientFor, SINGLE } from '../../../test/redis/clients.ts'
import { freshPrefix, realRedis } from '../../../test/redis/real-redis.ts'
import type { Call, Figures, HoldTerms } from '../../core/call.ts'
import { GRANTED } from '../../core/held-step.ts'
import type { Rule } from '../../core/rule.ts'
import { holdWalk } from '../../testing/hold-walk.ts'
import { definitionStore, everyRule, exampleRule, fakeClock } from '../../testing/index.ts'
import { seededRandom } from '../../testing/random.ts'
import { redisStore } from './redis-store.ts'

const server = realRedis()
const connected = clientFor(SINGLE.ioredis, () => server.it.port)

const RULES = [...everyRule(), exampleRule('concurrency')]

async function walk(rules: readonly Rule[], steps: number): Promise<void> {
  const clock = fakeClock()
  const tested = redisStore(connected.it.client, { clock, prefix: freshPrefix() }).tally(rules)
  await holdWalk({
    tested,
    defined: definitionStore(clock).tally(rules),
    rules,
    clock,
    random: seededRandom(),
    steps,
    isTimed: true,
    atOnce: 4,
  })
}

describe('one rule', () => {
  for (const rule of RULES) test(rule.name, () => walk([rule], roundsOf({ usual: 300, long: 4000 })))
})

test('every rule, in calls on several of them', () => walk(RULES, roundsOf({ usual: 500, long: 8000 })))

/** Runs of calls with the same terms, which share a command: reserves on a few keys, then settles, of which some are made twice. */
async function walkInRuns(rule: Rule, rounds: number): Promise<void> {
  const random = seededRandom()
  const clock = fakeClock()
  const tested = redisStore(connected.it.client, { clock, prefix: freshPrefix() }).tally([rule])
  const defined = definitionStore(clock).tally([rule])
  let lastId = 0
  let open: { readonly id: number; readonly key: string }[] = []
  const compare = async (calls: readonly Call[]): Promise<readonly Figures[]> => {
    const expected = calls.map((call) => defined.ask(call) as Figures)
    const got = await Promise.all(calls.map(async (call) => tested.ask(call)))
    expect(got, `SEED=${random.seed}: ${JSON.stringify(calls)}`).toEqual(expected)
    return expected
  }
  for (let round = 0; round < rounds; round++) {
    clock.set(clock.now() + random.pick([0, 1, 30, 300, random.whole(0, 9) === 0 ? -200 : 1100]))
    const terms = { ttlMs: random.pick([40, 400, 4000]), isCharged: random.pick([true, false]), most: 3 }
    const amount = random.pick([1, 1, 2])
    const reserves = Array.from({ length: random.whole(1, 12) }, (): Call => {
      const key = random.pick(['ada', 'bob', 'eve', 'joe'])
      lastId += 1
      return { operation: 'reserve', charges: [{ rule: 0, key, amount, least: amount }], hold: { id: lastId, ...terms } }
    })
    const answers = await compare(reserves)
    reserves.forEach(({ charges, hold }, i) => {
      if (answers[i].at(-1) === GRANTED) open.push({ id: (hold as HoldTerms).id, key: charges[0].key })
    })
    if (random.whole(0, 2) === 0) clock.set(clock.now() + random.pick([1, 50, 500]))
    const ended = open.filter(() => random.whole(0, 3) > 0)
    const used = random.pick([-1, 1, 1])
    const settles = [...ended, ...ended.slice(0, 2)].map(({ id, key }): Call => {
      return { operation: 'settle', charges: [{ rule: 0, key, amount: used }], hold: { id, ...terms } }
    })
    if (settles.length > 0) await compare(settles)
    open = open.filter((hold) => !ended.includes(hold)).slice(-9)
  }
}

describe('runs of calls in one command', () => {
  for (const rule of RULES) test(rule.name, () => walkInRuns(rule, roundsOf({ usual: 100, long: 2000 })))
})
