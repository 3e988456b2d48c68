// Compares calls.lua with core/step.ts, call by call: an amount and a key for each charge, timed hits, refunds with `endsAt`.

import { describe, expect, test } from 'vitest'
import { clientFor, SINGLE } from '../../../test/redis/clients.ts'
import { freshPrefix, realRedis } from '../../../test/redis/real-redis.ts'
import type { Call, Charge, Figures } from '../../core/call.ts'
import { FIGURES } from '../../core/call.ts'
import type { Rule } from '../../core/rule.ts'
import { definitionStore, everyRule, fakeClock } from '../../testing/index.ts'
import { type Random, seededRandom } from '../../testing/random.ts'
import { redisStore } from './redis-store.ts'

const server = realRedis()
const connected = clientFor(SINGLE.ioredis, () => server.it.port)

/** A call on one or several of the rules. A refund may name the end of a state that was charged before. */
function randomCall(rules: readonly Rule[], ends: Map<string, number>, random: Random): Call {
  const operation = random.pick([
    'hit',
    'timedHit',
    'timedHit',
    'timedHit',
    'peek',
    'inc',
    'refund',
    'refund',
    'reset',
    'get',
  ] as const)
  const isOne = operation === 'inc' || operation === 'get'
  const first = random.whole(0, rules.length - 1)
  const chosen = isOne ? [first] : [...rules.keys()].filter((rule) => rule === first || random.whole(0, 2) === 0)
  const hasEnds = operation === 'refund' && random.whole(0, 3) > 0
  const same = random.pick([undefined, 1])
  const charges = chosen.map((rule): Charge => {
    const key = random.pick(['ada', 'bob'])
    const amount = same ?? random.whole(1, 3)
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

async function walk(rules: readonly Rule[], steps: number): Promise<void> {
  const random = seededRandom()
  const clock = fakeClock()
  const tested = redisStore(connected.it.client, { clock, prefix: freshPrefix() }).tally(rules)
  const defined = definitionStore(clock).tally(rules)
  const ends = new Map<string, number>()
  for (let step = 0; step < steps; step++) {
    clock.set(clock.now() + random.pick([0, 0, 1, 5, 40, 300, random.whole(0, 30) === 0 ? random.whole(-900, 1500) : 2]))
    const call = randomCall(rules, ends, random)
    const expected = defined.ask(call)
    expect(await tested.ask(call), `SEED=${random.seed}, step ${step}: ${JSON.stringify(call)}`).toEqual(expected)
    if (call.operation === 'timedHit') noteEnds(call, expected, ends)
  }
}

describe('one rule', () => {
  for (const rule of everyRule()) test(rule.name, () => walk([rule], 800))
})

test('every rule, in calls on several of them', () => walk(everyRule(), 1500))
