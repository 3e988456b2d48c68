// Compares traffic with a charge that is given back to the same traffic without it: a refund with `endsAt` never frees too much.

import { describe, expect, test } from 'vitest'
import { definitionStore, everyRule, fakeClock } from '../testing/index.ts'
import { type Random, seededRandom } from '../testing/random.ts'
import type { Call, Operation } from './call.ts'
import type { Rule } from './rule.ts'

function callOf(operation: Operation, amount: number, endsAt?: number): Call {
  return { operation, charges: [endsAt === undefined ? { rule: 0, key: 'k', amount } : { rule: 0, key: 'k', amount, endsAt }] }
}

/** Two stores with the same traffic. The first has one more charge, and gives it back after `others` have spent. */
function compare(rule: Rule, random: Random, others: number) {
  const clock = fakeClock()
  const [charged, spared] = [definitionStore(clock), definitionStore(clock)].map((store) => store.tally([rule]))
  const spend = () => {
    const amount = random.whole(1, 2)
    for (const tally of [charged, spared]) tally.ask(callOf('inc', amount))
  }
  const pass = () => clock.advance(random.pick([0, 1, 7, random.whole(0, rule.windowMs), random.whole(0, 100)]))
  // Both have a state, so the charge opens no window of its own.
  spend()
  clock.advance(random.whole(0, 20))
  const amount = random.whole(1, 2)
  const [, waitMs, resetAfterMs, nowMs] = charged.ask(callOf('timedHit', amount))
  for (let i = 0; i < others; i++) {
    pass()
    spend()
  }
  pass()
  if (waitMs === 0) charged.ask(callOf('refund', amount, nowMs + resetAfterMs))
  const used = () => [charged, spared].map((tally) => tally.ask(callOf('get', 0))[0])
  return { clock, used }
}

const RUNS = 400

describe('after a charge was given back', () => {
  for (const rule of everyRule().filter(({ countsDenied }) => !countsDenied)) {
    test(`as much is used as if it had never been made, if nobody else came: ${rule.name}`, () => {
      const random = seededRandom()
      for (let run = 0; run < RUNS; run++) {
        const [charged, spared] = compare(rule, random, 0).used()
        expect(charged, `SEED=${random.seed}, run ${run}`).toBe(spared)
      }
    })

    // The steps of a bucket that was empty in between begin with its next charge, so the two stores may differ.
    if (rule.algorithm === 'stepped-meter') continue
    test(`no less is used, now and later, with other charges in between: ${rule.name}`, () => {
      const random = seededRandom()
      for (let run = 0; run < RUNS; run++) {
        const { clock, used } = compare(rule, random, random.whole(1, 3))
        for (let later = 0; later < 4; later++) {
          const [charged, spared] = used()
          expect(charged, `SEED=${random.seed}, run ${run}`).toBeGreaterThanOrEqual(spared)
          clock.advance(random.whole(0, Math.ceil(rule.windowMs / 2)))
        }
      }
    })
  }
})
