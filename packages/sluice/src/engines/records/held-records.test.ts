// Holds on several records of a compare-and-swap store, while another process changes the same records.

import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../../test/rounds.ts'
import { makeMap } from '../../../test/engines/hooked-map.ts'
import type { Call, HoldTerms } from '../../core/call.ts'
import { DENIED, GRANTED } from '../../core/held-step.ts'
import type { Tally } from '../../core/store.ts'
import { concurrency, fixedWindow, slidingLog, tokenBucket } from '../../index.ts'
import { seededRandom } from '../../testing/random.ts'
import { compareAndSwapStore } from '../compare-and-swap.ts'

const YEAR_MS = 365 * 86_400_000
const KEYS = ['a', 'b', 'c', 'd']
const rules = [
  fixedWindow({ name: 'x', limit: 40, window: YEAR_MS }),
  slidingLog({ name: 'y', limit: 40, window: YEAR_MS }),
  tokenBucket({ name: 'z', capacity: 40, refill: 40, every: YEAR_MS }),
  concurrency({ name: 'places', limit: 4, ttl: YEAR_MS }),
]

const terms = (id: number): HoldTerms => ({ id, ttlMs: 60_000, isCharged: true, most: 100 })

/** Holds units of x and z and a place, and spends 1 unit of y. */
function reserveOf(id: number, units: number): Call {
  return {
    operation: 'reserve',
    charges: [
      { rule: 0, key: 'a', amount: units, least: units },
      { rule: 1, key: 'b', amount: 1 },
      { rule: 2, key: 'c', amount: units, least: units },
      { rule: 3, key: 'd', amount: 1, least: 1 },
    ],
    hold: terms(id),
  }
}

function endOf(operation: 'settle' | 'cancel', id: number, units: number): Call {
  return { operation, charges: [0, 2, 3].map((rule) => ({ rule, key: KEYS[rule], amount: units })), hold: terms(id) }
}

async function used(tally: Tally): Promise<readonly number[]> {
  const reads = KEYS.map(async (key, rule) => (await tally.ask({ operation: 'get', charges: [{ rule, key, amount: 0 }] }))[0])
  return Promise.all(reads)
}

/** Makes a function that does something in its first call. All calls wait until it is done. */
function once(work: () => unknown): () => Promise<void> {
  let done: Promise<unknown> | undefined
  return async () => {
    done ??= Promise.resolve(work())
    await done
  }
}

describe('a reserve whose last record another process takes between its read and its write', () => {
  test.each([0, 2, 3])('holds and spends nothing: rule %i', async (rule) => {
    const { hooks, store, other } = makeMap()
    const [tally, rival] = [store.tally(rules), other.tally(rules)]
    const { limit } = rules[rule]
    const charges = [{ rule, key: KEYS[rule], amount: limit, least: limit }]
    hooks.beforeSwap = once(() => rival.ask({ operation: 'reserve', charges, hold: terms(1) }))
    expect((await tally.ask(reserveOf(2, 5))).at(-1)).toBe(DENIED)
    expect(await used(tally)).toEqual(KEYS.map((_, i) => (i === rule ? rules[rule].limit : 0)))
  })
})

test('a reserve that is undone leaves what another process has spent since', async () => {
  const { hooks, store, other, clock } = makeMap()
  const [tally, rival] = [store.tally(rules), other.tally(rules)]
  await rival.ask({ operation: 'reserve', charges: [{ rule: 1, key: 'b', amount: 4, least: 4 }], hold: terms(9) })
  const spend = once(async () => {
    // The records of the other keys are written meanwhile.
    for (let i = 0; i < 10; i++) await new Promise(setImmediate)
    clock.advance(10)
    await rival.ask({ operation: 'inc', charges: [{ rule: 0, key: 'a', amount: 2 }] })
    await rival.ask({ operation: 'inc', charges: [{ rule: 1, key: 'b', amount: 3 }] })
    await rival.ask({ operation: 'inc', charges: [{ rule: 2, key: 'c', amount: 40 }] })
  })
  hooks.beforeSwap = async ({ name }) => {
    if (name.startsWith('c')) await spend()
  }
  expect((await tally.ask(reserveOf(1, 5))).at(-1)).toBe(DENIED)
  expect(await used(tally)).toEqual([2, 7, 40, 0])
  expect(await tally.ask(endOf('cancel', 1, 0))).toEqual([0])
})

test('a hold that another process settles at the same time is charged once on each record', async () => {
  const { hooks, store, other } = makeMap()
  const [tally, rival] = [store.tally(rules), other.tally(rules)]
  expect((await tally.ask(reserveOf(1, 5))).at(-1)).toBe(GRANTED)
  hooks.beforeSwap = once(() => rival.ask(endOf('settle', 1, 3)))
  expect(await tally.ask(endOf('settle', 1, 4))).toEqual([0])
  expect(await used(tally)).toEqual([3, 1, 3, 0])
})

test('a record with a thousand holds of every rule takes 24 bytes for each', async () => {
  const { store, records } = makeMap()
  const roomy = rules.map((rule) => fixedWindow({ name: rule.name, limit: 1e6, window: YEAR_MS }))
  const tally = store.tally(roomy)
  for (let id = 0; id < 1000; id++) {
    const charges = roomy.map((_, rule) => ({ rule, key: 'a', amount: 1, least: 1 }))
    const figures = await tally.ask({ operation: 'reserve', charges, hold: { ...terms(id), most: 1000 } })
    expect(figures.at(-1)).toBe(GRANTED)
  }
  const [{ value }] = [...records.values()]
  expect(value.length).toBeLessThan(4 * (1000 * 24 + 100))
})

test('two processes that reserve and settle at once lose nothing, and exceed no limit', async () => {
  const random = seededRandom()
  const { hooks, options, other } = makeMap()
  const store = compareAndSwapStore<number>({ ...options, attempts: 200, random: () => 0 })
  // The swaps of the two processes come in any order.
  hooks.beforeSwap = async () => {
    for (let i = random.whole(0, 3); i > 0; i--) await new Promise(setImmediate)
  }
  const tallies = [store, other].map((each) => each.tally(rules))
  const charged = [0, 0, 0]
  const counts = { granted: 0, denied: 0, refused: 0 }
  let lastId = 0
  const orRefused = (asked: Promise<readonly number[]>) =>
    asked.catch((error: { code?: string }) => {
      if (error.code !== 'ERR_STORE_REFUSED') throw error
      counts.refused += 1
      return undefined
    })
  const work = async (tally: Tally): Promise<void> => {
    for (let i = 0; i < roundsOf({ usual: 40, long: 2000 }); i++) {
      const [id, units] = [++lastId, random.whole(1, 15)]
      const figures = await orRefused(tally.ask(reserveOf(id, units)) as Promise<readonly number[]>)
      if (figures?.at(-1) !== GRANTED) {
        if (figures !== undefined) counts.denied += 1
        continue
      }
      counts.granted += 1
      charged[1] += 1
      for (const [at, figure] of [0, 6, 9].map((index) => [index, figures[index]] as const)) {
        expect(figure, `SEED=${random.seed}, figure ${at}`).toBeLessThanOrEqual(rules[at / 3].limit)
      }
      const spent = random.pick([0, units, random.whole(0, units)])
      let found: readonly number[] | undefined
      while (found === undefined) found = await orRefused(tally.ask(endOf('settle', id, spent)) as Promise<readonly number[]>)
      expect(found, `SEED=${random.seed}`).toEqual([1])
      charged[0] += spent
      charged[2] += spent
      if (charged.some((units) => units > 20)) {
        const back = charged.splice(0, 3, 0, 0, 0)
        const charges = back.flatMap((amount, rule) => (amount === 0 ? [] : [{ rule, key: KEYS[rule], amount }]))
        while ((await orRefused(tally.ask({ operation: 'refund', charges }) as Promise<readonly number[]>)) === undefined);
      }
    }
  }
  await Promise.all([...tallies, ...tallies].map(work))
  expect(await used(tallies[0]), `SEED=${random.seed}`).toEqual([...charged, 0])
  expect(counts.granted).toBeGreaterThan(20)
  expect(counts.denied).toBeGreaterThan(0)
})
