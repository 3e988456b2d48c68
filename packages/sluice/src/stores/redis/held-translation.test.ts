// Compares the translation of core/held-step.ts with the definition, call by call.

import { describe, test } from 'vitest'
import { roundsOf } from '../../../../../test/rounds.ts'
import { clientFor, SINGLE } from '../../../test/redis/clients.ts'
import { freshPrefix, realRedis } from '../../../test/redis/real-redis.ts'
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
