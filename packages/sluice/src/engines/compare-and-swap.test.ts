import { describe, expect, test } from 'vitest'
import { makeMap } from '../../test/engines/hooked-map.ts'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { createLimiter } from '../create-limiter.ts'
import { type CompareAndSwapOptions, compareAndSwapStore } from './compare-and-swap.ts'
import { decodeRecord } from './records/record.ts'

const rule = fixedWindow({ limit: 5, window: 1000, name: 'requests' })
const second = fixedWindow({ limit: 9, window: 3000, name: 'second' })

describe('one record', () => {
  test('calls of a turn on one key share a read and a swap, and keep their order', async () => {
    const { store, counts } = makeMap()
    const limiter = createLimiter({ rules: [rule, second], store })
    const asked = [limiter.hit('a'), limiter.hit('a'), limiter.get('a'), limiter.reset('a'), limiter.hit('a')]
    const [, , used, , last] = await Promise.all(asked)
    expect(used).toBe(2)
    expect(last).toMatchObject({ remaining: 4 })
    expect(counts).toEqual({ reads: 1, swaps: 1 })
  })

  test('calls that come while a swap is under way go into the next one', async () => {
    const { store, counts, hooks } = makeMap()
    const limiter = createLimiter({ rules: rule, store })
    const more: Promise<unknown>[] = []
    hooks.beforeSwap = () => {
      hooks.beforeSwap = undefined
      for (let i = 0; i < 3; i++) more.push(limiter.hit('a'))
    }
    await limiter.hit('a')
    await Promise.all(more)
    expect(counts).toEqual({ reads: 2, swaps: 2 })
    expect(await limiter.get('a')).toBe(4)
  })

  test('an unchanged record is not written', async () => {
    const { store, counts } = makeMap()
    const limiter = createLimiter({ rules: rule, store })
    await limiter.hit('a', { cost: 5 })
    await limiter.hit('a')
    await limiter.peek('a')
    await limiter.reset('b')
    expect(counts.swaps).toBe(1)
  })

  test('a record ends with its last state, keeps no ended states of other rules, and goes with its last one', async () => {
    const { store, records, clock } = makeMap()
    const one = createLimiter({ rules: rule, store })
    const two = createLimiter({ rules: second, store })
    await one.hit('a')
    await two.hit('a')
    expect(records.get('a')?.endsAt).toBe(clock.now() + 3000)
    clock.advance(1000)
    await two.hit('a')
    const kept = records.get('a')
    expect(kept && [...decodeRecord(kept.value, 'a').keys()]).toEqual(['fixed-window%0000second'])
    await two.reset('a')
    expect(records.size).toBe(0)
  })

  test('a write of another process in between is noticed', async () => {
    const { store, hooks, other } = makeMap()
    const limiter = createLimiter({ rules: rule, store })
    const theirs = createLimiter({ rules: rule, store: other })
    hooks.beforeSwap = async () => {
      hooks.beforeSwap = undefined
      await theirs.hit('a', { cost: 5 })
    }
    expect((await limiter.hit('a')).allowed).toBe(false)
    expect(await limiter.get('a')).toBe(5)
  })

  test('a call that was denied may be allowed on a fresh record, and is charged once', async () => {
    const { store, hooks, other } = makeMap()
    const limiter = createLimiter({ rules: rule, store })
    await limiter.hit('a')
    hooks.beforeSwap = async () => {
      hooks.beforeSwap = undefined
      await createLimiter({ rules: rule, store: other }).reset('a')
    }
    const [decision] = await Promise.all([limiter.hit('a', { cost: 5 }), limiter.inc('a')])
    expect(decision.allowed).toBe(true)
    expect(await limiter.get('a')).toBe(6)
  })

  test('attempts are bounded, with random pauses between them, and then it is refused', async () => {
    const { options, counts, hooks, other, clock } = makeMap()
    const pauses: number[] = []
    const after = (delayMs: number, callback: () => void): (() => void) => {
      // Time limits of requests are longer than pauses.
      if (delayMs >= 1000) return () => {}
      pauses.push(delayMs)
      setImmediate(callback)
      return () => {}
    }
    const store = compareAndSwapStore({ ...options, attempts: 8, random: () => 0.99, clock: { now: clock.now, after } })
    const theirs = other.tally([rule])
    hooks.beforeSwap = async () => {
      await theirs.ask({ operation: 'inc', charges: [{ rule: 0, key: 'a', amount: 1 }] })
    }
    const asked = store.tally([rule]).ask({ operation: 'inc', charges: [{ rule: 0, key: 'a', amount: 1 }] })
    await expect(asked).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    expect(counts.swaps).toBe(8)
    expect(pauses).toEqual([7, 15, 31, 63, 63, 63])
  })

  test('a damaged record is refused by its name, and reset deletes it', async () => {
    const { store, records } = makeMap()
    const limiter = createLimiter({ rules: rule, store })
    await limiter.hit('bad')
    const kept = records.get('bad')
    if (kept !== undefined) records.set('bad', { ...kept, value: kept.value.subarray(0, 20) })
    await expect(limiter.hit('bad')).rejects.toMatchObject({ code: 'ERR_STORE_FATAL', value: 'bad' })
    await limiter.reset('bad')
    expect((await limiter.hit('bad')).remaining).toBe(4)
  })

  test('errors of a read are refused, and those of a swap unknown', async () => {
    const ask = (options: Partial<CompareAndSwapOptions<number>>) =>
      compareAndSwapStore({ ...makeMap().options, ...options })
        .tally([rule])
        .ask({ operation: 'hit', charges: [{ rule: 0, key: 'a', amount: 1 }] })
    const fail = async () => Promise.reject(new Error('gone'))
    await expect(ask({ read: fail })).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    await expect(ask({ now: fail })).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    await expect(ask({ swap: fail })).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
    await expect(ask({ swap: fail, sortError: () => 'refused' })).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    await expect(ask({ now: () => Number.NaN })).rejects.toMatchObject({ code: 'ERR_STORE_FATAL' })
  })
})
