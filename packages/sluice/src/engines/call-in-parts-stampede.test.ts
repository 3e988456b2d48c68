// Many callers at once whose charges lie in several parts, with random pauses before and after every command.

import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type ToyOptions, toyStore } from '../../test/scripted-toy.ts'
import type { Charge, Figures } from '../core/call.ts'
import { fixedWindow, type Rule, slidingLog, slidingWindow, tokenBucket } from '../index.ts'
import { type FakeClock, fakeClock } from '../testing/fake-clock.ts'
import { type Random, seededRandom } from '../testing/random.ts'

const isAllowed = (figures: Figures): boolean => figures.every((figure, i) => i % 3 !== 1 || figure === 0)

async function wander(random: Random): Promise<void> {
  for (let turns = random.whole(0, 4); turns > 0; turns--) await turn()
}

/** A store with a part for each key, which counts the charges that it is given back. */
function setUp(clock: FakeClock, pass: () => Promise<void>, after: Required<ToyOptions>['after']) {
  const counts = { givenBack: 0 }
  const store = toyStore({
    clock,
    partOf: (key) => key,
    before(_part, calls) {
      counts.givenBack += calls.filter(({ operation }) => operation === 'refund').length
      return pass()
    },
    after,
  })
  return { store, counts }
}

const OF_HOURS: Readonly<Record<string, (name: string, limit: number) => Rule>> = {
  'fixed window': (name, limit) => fixedWindow({ name, limit, window: '1h' }),
  'sliding log': (name, limit) => slidingLog({ name, limit, window: '1h' }),
  'sliding window': (name, limit) => slidingWindow({ name, limit, window: '1h' }),
  'token bucket': (name, capacity) => tokenBucket({ name, capacity, refill: 1, every: '1h' }),
}

test.each(Object.entries(OF_HOURS))('%s: as many units are used as were allowed, and never above the limit', async (_, make) => {
  const random = seededRandom()
  const rules = [7, 11, 5, 13].map((limit, i) => make(`rule ${i}`, limit))
  let givenBack = 0
  for (let round = 0; round < 40; round++) {
    const pass = () => wander(random)
    const { store, counts } = setUp(fakeClock(), pass, pass)
    const tally = store.tally(rules)
    const spent = new Map<string, number>()
    const callers = Array.from({ length: 25 }, async () => {
      await pass()
      const charges = rules.map((_, rule) => ({ rule, key: `${rule}${random.pick(['', '', '!'])}`, amount: random.whole(1, 2) }))
      if (!isAllowed(await tally.ask({ operation: 'hit', charges }))) return
      for (const { key, amount } of charges) spent.set(key, (spent.get(key) ?? 0) + amount)
    })
    await Promise.all(callers)
    for (const [rule, { limit }] of rules.entries()) {
      for (const key of [`${rule}`, `${rule}!`]) {
        const [used] = await tally.ask({ operation: 'get', charges: [{ rule, key, amount: 0 }] })
        expect(used, `SEED=${random.seed}, round ${round}, ${key}`).toBe(spent.get(key) ?? 0)
        expect(used).toBeLessThanOrEqual(limit)
      }
    }
    givenBack += counts.givenBack
  }
  expect(givenBack).toBeGreaterThan(20)
})

test('while time passes, no window of a rule lets more through than its limit', async () => {
  const random = seededRandom()
  const [logLimit, clockLimit, capacity] = [7, 6, 5]
  const rules = [
    slidingLog({ name: 'log', limit: logLimit, window: 50 }),
    fixedWindow({ name: 'clock', limit: clockLimit, window: 40, anchor: 'clock' }),
    tokenBucket({ name: 'bucket', capacity, refill: 1, every: 10 }),
  ]
  let givenBack = 0
  for (let round = 0; round < 60; round++) {
    const clock = fakeClock()
    const chargedAt = new Map<Charge, number>()
    const pass = async () => {
      await wander(random)
      clock.advance(random.whole(0, 4))
    }
    const { store, counts } = setUp(clock, pass, (_part, calls) => {
      for (const { operation, charges } of calls) {
        if (operation === 'timedHit') for (const charge of charges) chargedAt.set(charge, clock.now())
      }
    })
    const tally = store.tally(rules)
    const spends: { readonly atMs: number; readonly cost: number }[][] = rules.map(() => [])
    await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        for (let turns = i; turns > 0; turns--) await turn()
        const amount = random.whole(1, 2)
        const charges = rules.map((_, rule) => ({ rule, key: `${rule}`, amount }))
        if (!isAllowed(await tally.ask({ operation: 'hit', charges }))) return
        for (const charge of charges) spends[charge.rule].push({ atMs: chargedAt.get(charge) ?? 0, cost: amount })
      }),
    )
    const spentIn = (rule: number, fromMs: number, beforeMs: number) =>
      spends[rule].reduce((sum, { atMs, cost }) => sum + (atMs >= fromMs && atMs < beforeMs ? cost : 0), 0)
    const where = `SEED=${random.seed}, round ${round}`
    for (const { atMs } of spends[0]) expect(spentIn(0, atMs, atMs + 50), where).toBeLessThanOrEqual(logLimit)
    for (const { atMs } of spends[1]) {
      const start = atMs - (atMs % 40)
      expect(spentIn(1, start, start + 40), where).toBeLessThanOrEqual(clockLimit)
    }
    for (const { atMs: fromMs } of spends[2]) {
      for (const { atMs: toMs } of spends[2]) {
        if (toMs < fromMs) continue
        expect(spentIn(2, fromMs, toMs + 1), where).toBeLessThanOrEqual(capacity + (toMs - fromMs) / 10)
      }
    }
    givenBack += counts.givenBack
  }
  expect(givenBack).toBeGreaterThan(20)
})
