// Reserves and their ends in several parts: others come between the parts, parts deny, fail, and lose answers.

import { describe, expect, test } from 'vitest'
import { type ToyCall, type ToyOptions, toyStore } from '../../test/scripted-toy.ts'
import type { Call, HoldTerms } from '../core/call.ts'
import { DENIED, FULL_OF_HOLDS, GRANTED } from '../core/held-step.ts'
import type { Tally } from '../core/store.ts'
import { fixedWindow, type Rule, slidingLog, tokenBucket } from '../index.ts'
import { fakeClock } from '../testing/index.ts'
import { storeError } from './store-errors.ts'

const KEYS = ['a', 'b', 'c']

const rules: readonly Rule[] = [
  fixedWindow({ name: 'x', limit: 5, window: '1h' }),
  slidingLog({ name: 'y', limit: 5, window: '1h' }),
  tokenBucket({ name: 'z', capacity: 5, refill: 1, every: '1h' }),
]

const hold: HoldTerms = { id: 7, ttlMs: 1000, isCharged: true, most: 3 }

/** Holds 2 units in a and c, and spends 2 in b. */
const reserve: Call = {
  operation: 'reserve',
  charges: KEYS.map((key, rule) => ({ rule, key, amount: 2, ...(key !== 'b' && { least: 2 }) })),
  hold,
}

function ending(operation: 'settle' | 'cancel' | 'extend', amount = -1): Call {
  const held = KEYS.flatMap((key, rule) => (key === 'b' ? [] : [{ rule, key, amount }]))
  return { operation, charges: held, hold: { ...hold, ttlMs: 5000 } }
}

/** Every key is a part of its own. */
function setUp(options: Partial<ToyOptions> = {}, own = rules) {
  const clock = fakeClock()
  const tally = toyStore({ clock, partOf: (key) => key, ...options }).tally(own)
  return { clock, tally }
}

async function used(tally: Tally<'async'>): Promise<readonly number[]> {
  const reads = KEYS.map((key, rule) => tally.ask({ operation: 'get', charges: [{ rule, key, amount: 0 }] }))
  return (await Promise.all(reads)).map(([figure]) => figure)
}

const hasReserve = (calls: readonly ToyCall[]): boolean => calls.some(({ operation }) => operation === 'reserve')

test('holds in all parts, and reports the figures of all of them', async () => {
  const { tally, clock } = setUp()
  const figures = await tally.ask(reserve)
  expect(figures.filter((_, i) => i < 9 && i % 3 === 0)).toEqual([2, 2, 2])
  expect(figures.slice(9)).toEqual([2, 0, 2, clock.now(), GRANTED])
  expect(await used(tally)).toEqual([2, 2, 2])
  expect(await tally.ask(ending('settle', 1))).toEqual([1])
  expect(await used(tally)).toEqual([1, 2, 1])
  expect(await tally.ask(ending('cancel'))).toEqual([0])
})

describe('a denial', () => {
  test('by the look holds nothing', async () => {
    const { tally } = setUp()
    await tally.ask({ operation: 'inc', charges: [{ rule: 2, key: 'c', amount: 4 }] })
    expect((await tally.ask(reserve)).slice(9)).toEqual([0, 0, 0, 0, DENIED])
    expect(await used(tally)).toEqual([0, 0, 4])
  })

  test.each(['b', 'c'])('by part %s after the look leaves nothing held or spent', async (late) => {
    const rule = KEYS.indexOf(late)
    const { tally } = setUp({
      after: async (part, calls) => {
        if (part !== 'a' || !hasReserve(calls)) return
        await tally.ask({ operation: 'inc', charges: [{ rule, key: late, amount: 4 }] })
      },
    })
    const figures = await tally.ask(reserve)
    expect(figures.slice(9)).toEqual([0, 0, 0, 0, DENIED])
    expect(figures.filter((_, i) => i < 9 && i % 3 === 0)).toEqual(KEYS.map((key) => (key === late ? 4 : 0)))
    expect(await used(tally)).toEqual(KEYS.map((key) => (key === late ? 4 : 0)))
    expect(await tally.ask(ending('cancel'))).toEqual([0])
  })

  test('counts on rules that count denied hits, in every part', async () => {
    const counting = KEYS.map((name) => fixedWindow({ name, limit: 5, window: '1h', countDenied: true }))
    const { tally } = setUp({}, counting)
    await tally.ask({ operation: 'inc', charges: [{ rule: 2, key: 'c', amount: 4 }] })
    expect((await tally.ask(reserve)).at(-1)).toBe(DENIED)
    expect(await used(tally)).toEqual([0, 2, 4])
  })

  test('by a key that is full of holds charges nothing', async () => {
    const { tally } = setUp()
    for (let id = 1; id <= 3; id++) {
      await tally.ask({ operation: 'reserve', charges: [{ rule: 2, key: 'c', amount: 1, least: 1 }], hold: { ...hold, id } })
    }
    expect((await tally.ask(reserve)).at(-1)).toBe(FULL_OF_HOLDS)
    expect(await used(tally)).toEqual([0, 0, 3])
  })
})

describe('a part that fails', () => {
  const refused = (): never => {
    throw storeError('refused', 'not now')
  }

  test('and has refused lets the call be repeated: nothing is left', async () => {
    let isDown = true
    const { tally } = setUp({ before: (part, calls) => isDown && part === 'c' && hasReserve(calls) && refused() })
    await expect(tally.ask(reserve)).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    expect(await used(tally)).toEqual([0, 0, 0])
    isDown = false
    expect((await tally.ask(reserve)).at(-1)).toBe(GRANTED)
  })

  test('after it has held units leaves nothing held, though its answer was lost', async () => {
    const { tally } = setUp({
      after: (part, calls) => {
        if (part === 'c' && hasReserve(calls)) throw new Error('the answer was lost')
      },
    })
    await expect(tally.ask(reserve)).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
    expect(await used(tally)).toEqual([0, 0, 0])
  })

  test('and cannot be undone is unknown, and what it holds expires', async () => {
    let isDown = false
    const { tally, clock } = setUp({
      before: (part, calls) => {
        if (part === 'c' && hasReserve(calls)) isDown = true
        if (isDown) refused()
      },
    })
    await expect(tally.ask(reserve)).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
    isDown = false
    expect(await used(tally)).toEqual([2, 2, 0])
    clock.advance(1000)
    expect(await used(tally)).toEqual([2, 2, 0])
    expect(await tally.ask(ending('cancel'))).toEqual([0])
  })

  test.each(['settle', 'cancel', 'extend'] as const)('a %s in all parts is refused only if no part did it', async (operation) => {
    let down: readonly string[] = []
    const { tally } = setUp({ before: (part) => down.includes(part) && refused() })
    await tally.ask(reserve)
    down = ['a', 'c']
    await expect(tally.ask(ending(operation))).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    down = ['c']
    await expect(tally.ask(ending(operation))).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
  })
})

test('a hold that one part has lost has ended: the other parts settle it, and say so', async () => {
  const { tally } = setUp()
  await tally.ask(reserve)
  await tally.ask({ operation: 'reset', charges: [{ rule: 0, key: 'a', amount: 0 }] })
  expect(await tally.ask(ending('settle', 1))).toEqual([0])
  expect(await used(tally)).toEqual([0, 2, 1])
})

test('an extended hold lives on in every part', async () => {
  const { tally, clock } = setUp()
  await tally.ask(reserve)
  clock.advance(900)
  expect(await tally.ask(ending('extend'))).toEqual([1])
  clock.advance(4999)
  expect(await tally.ask(ending('settle', 0))).toEqual([1])
  expect(await used(tally)).toEqual([0, 2, 2 - 2])
})
