// Calls whose charges lie in several parts: others come between the parts, windows end between them, and parts fail.

import { describe, expect, test } from 'vitest'
import { type ToyOptions, toyStore } from '../../test/scripted-toy.ts'
import type { Call, Figures } from '../core/call.ts'
import { SluiceError } from '../core/errors.ts'
import type { Tally } from '../core/store.ts'
import { fixedWindow, type Rule, slidingLog, slidingWindow, tokenBucket } from '../index.ts'
import { fakeClock } from '../testing/index.ts'

/** Every key is a part of its own. */
const partOf = (key: string) => key

/** A call with one charge of the amount for each key, under the rule with the same index. */
function callOf(operation: Call['operation'], keys: readonly string[], amount = 1): Call {
  return { operation, charges: keys.map((key, rule) => ({ rule, key, amount })) }
}

function usedOn(tally: Tally<'async'>, keys: readonly string[]): Promise<readonly number[]> {
  const reads = keys.map((key, rule) => tally.ask({ operation: 'get', charges: [{ rule, key, amount: 0 }] }))
  return Promise.all(reads).then((all) => all.map(([used]) => used))
}

const isAllowed = (figures: Figures): boolean => figures.every((figure, i) => i % 3 !== 1 || figure === 0)

const hour = (name: string, limit: number, more = {}) => fixedWindow({ name, limit, window: '1h', ...more })

/** A tally over three parts. `onHit` is called when a part has been charged, or has denied, before the engine knows. */
function setUp(rules: readonly Rule[], options: Partial<ToyOptions> & { onHit?: (part: string) => unknown } = {}) {
  const clock = fakeClock()
  const hits: string[] = []
  const store = toyStore({
    clock,
    partOf,
    async after(part, calls) {
      if (!calls.some(({ operation }) => operation === 'timedHit')) return
      hits.push(part)
      if (hits.length < 10) await options.onHit?.(part)
    },
    ...options,
  })
  return { clock, hits, tally: store.tally(rules) }
}

describe('a hit', () => {
  const rules = [hour('x', 5), hour('y', 5), hour('z', 1)]

  test('charges parts in one order, whatever the order of the rules', async () => {
    const { tally, hits } = setUp(rules)
    expect(await tally.ask(callOf('hit', ['c', 'a', 'b'], 1))).toEqual([1, 0, 3_600_000, 1, 0, 3_600_000, 1, 0, 3_600_000])
    expect(hits).toEqual(['a', 'b', 'c'])
  })

  test('that a look denies charges no part, and reports the figures of all', async () => {
    const { tally, hits } = setUp(rules)
    await tally.ask(callOf('hit', ['c', 'a', 'b']))
    hits.length = 0
    expect(await tally.ask(callOf('hit', ['c', 'a', 'b']))).toEqual([1, 0, 3_600_000, 1, 0, 3_600_000, 1, 3_600_000, 3_600_000])
    expect(hits).toEqual([])
  })

  test.each(['b', 'c'])('that part %s denies after the look leaves nothing charged', async (late) => {
    const keys = ['a', 'b', 'c']
    const all = [hour('x', 1), hour('y', 1), hour('z', 1)]
    const { tally, hits } = setUp(all, {
      onHit: async (part) => {
        if (part !== 'a') return
        const rule = keys.indexOf(late)
        await tally.ask({ operation: 'inc', charges: [{ rule, key: late, amount: 1 }] })
      },
    })
    const figures = await tally.ask(callOf('hit', keys))
    expect(figures.filter((_, i) => i % 3 === 0)).toEqual(keys.map((key) => Number(key === late)))
    expect(figures.filter((_, i) => i % 3 === 1)).toEqual(keys.map((key) => (key === late ? 3_600_000 : 0)))
    expect(hits).toEqual(keys.slice(0, keys.indexOf(late) + 1))
    expect(await usedOn(tally, keys)).toEqual(keys.map((key) => Number(key === late)))
  })

  test.each([
    ['by the look', undefined],
    ['by a part after the look', 'a'],
  ])('that is denied %s counts under the rules that count denied hits, in every part', async (_, raceAfter) => {
    const keys = ['a', 'b', 'c']
    const all = [hour('x', 5, { countDenied: true }), hour('y', 1), hour('z', 5, { countDenied: true })]
    const take = () => tally.ask({ operation: 'inc', charges: [{ rule: 1, key: 'b', amount: 1 }] })
    const { tally } = setUp(all, { onHit: (part) => part === raceAfter && take() })
    if (raceAfter === undefined) await take()
    const figures = await tally.ask(callOf('hit', keys))
    expect(figures.filter((_, i) => i % 3 === 0)).toEqual([1, 1, 1])
    expect(isAllowed(figures)).toBe(false)
    expect(await usedOn(tally, keys)).toEqual([1, 1, 1])
  })

  test('stays denied if the window that denied it ends while denied hits are counted', async () => {
    const all = [hour('x', 5, { countDenied: true }), hour('y', 2, { countDenied: true })]
    let looks = 0
    const { tally, clock } = setUp(all, {
      before: (_part, calls) => {
        if (calls.some(({ operation }) => operation === 'inc') && looks++ === 1) clock.advance(3_600_000)
      },
    })
    await tally.ask({ operation: 'inc', charges: [{ rule: 1, key: 'b', amount: 2 }] })
    expect(isAllowed(await tally.ask(callOf('hit', ['a', 'b'])))).toBe(false)
  })
})

describe('a give-back after a window has ended takes nothing from the next', () => {
  const charges = [
    { rule: 0, key: 'a', amount: 3 },
    { rule: 1, key: 'b', amount: 1 },
  ]
  const RULES: Readonly<Record<string, Rule>> = {
    'fixed window': fixedWindow({ limit: 9, window: 1000, name: 'a' }),
    'fixed window on the clock': fixedWindow({ limit: 9, window: 1000, anchor: 'clock', name: 'a' }),
    'sliding log': slidingLog({ limit: 9, window: 1000, name: 'a' }),
    'token bucket': tokenBucket({ capacity: 9, refill: 9, every: 1000, name: 'a' }),
    'stepped bucket': tokenBucket({ capacity: 9, refill: 9, every: 1000, style: 'stepped', name: 'a' }),
  }
  test.each(Object.entries(RULES))('%s', async (_, rule) => {
    const { tally, clock } = setUp([rule, hour('b', 1)], {
      onHit: async (part) => {
        if (part !== 'a') return
        // The charge of 3 has left; others spend 4 in the next window, and the last unit of b.
        clock.advance(2000)
        await tally.ask({ operation: 'hit', charges: [{ rule: 0, key: 'a', amount: 4 }] })
        await tally.ask({ operation: 'inc', charges: [{ rule: 1, key: 'b', amount: 1 }] })
      },
    })
    expect(isAllowed(await tally.ask({ operation: 'hit', charges }))).toBe(false)
    expect(await usedOn(tally, ['a', 'b'])).toEqual([4, 1])
  })

  test('sliding window: the charge is in the previous window, and is taken from there', async () => {
    const rule = slidingWindow({ limit: 9, window: 1000, name: 'a' })
    const { tally, clock } = setUp([rule, hour('b', 1)], {
      onHit: async (part) => {
        if (part !== 'a') return
        clock.advance(1500)
        await tally.ask({ operation: 'hit', charges: [{ rule: 0, key: 'a', amount: 4 }] })
        await tally.ask({ operation: 'inc', charges: [{ rule: 1, key: 'b', amount: 1 }] })
      },
    })
    expect(isAllowed(await tally.ask({ operation: 'hit', charges }))).toBe(false)
    expect(await usedOn(tally, ['a', 'b'])).toEqual([4, 1])
  })
})

describe('a part that fails', () => {
  const keys = ['a', 'b', 'c']
  const all = [hour('x', 5), hour('y', 5), hour('z', 5)]

  test.each(['ERR_STORE_REFUSED', 'ERR_STORE_UNKNOWN', 'ERR_STORE_FATAL'] as const)(
    'with %s fails the hit alike, and what was charged before is given back',
    async (code) => {
      const { tally } = setUp(all, {
        before: (part, calls) => {
          if (part === 'c' && calls.some(({ operation }) => operation === 'timedHit')) throw new SluiceError(code, 'no')
        },
      })
      await expect(tally.ask(callOf('hit', keys, 2))).rejects.toMatchObject({ code })
      expect(await usedOn(tally, keys)).toEqual([0, 0, 0])
    },
  )

  test.each([
    ['ERR_STORE_REFUSED', 'ERR_STORE_UNKNOWN'],
    ['ERR_STORE_FATAL', 'ERR_STORE_FATAL'],
  ] as const)('with %s and so does the give-back: the hit fails with %s, and is not repeated', async (code, reported) => {
    const { tally } = setUp(all, {
      before: (part, calls) => {
        const fails = part === 'c' ? 'timedHit' : part === 'a' ? 'refund' : undefined
        if (calls.some(({ operation }) => operation === fails)) throw new SluiceError(code, 'no')
      },
    })
    await expect(tally.ask(callOf('hit', keys, 2))).rejects.toMatchObject({ code: reported })
    expect(await usedOn(tally, keys)).toEqual([2, 0, 0])
  })

  test.each([
    ['hit', 'ERR_STORE_REFUSED'],
    ['peek', 'ERR_STORE_REFUSED'],
    ['reset', 'ERR_STORE_REFUSED'],
    ['refund', 'ERR_STORE_UNKNOWN'],
  ] as const)('at once with a refusal: a %s fails with %s, as it may or may not be repeated', async (operation, code) => {
    const { tally } = setUp(all, {
      before: (part) => {
        if (part === 'b') throw new SluiceError('ERR_STORE_REFUSED', 'no')
      },
    })
    await expect(tally.ask(callOf(operation, keys))).rejects.toMatchObject({ code })
  })
})
