// The memory store that answers for a store that does not.

import { describe, expect, test } from 'vitest'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { parseRule } from '../algorithms/parse-rule.ts'
import { createLimiter, type FailureOptions, holds, memoryStore, SluiceError, type Store } from '../index.ts'
import { failingStore, fakeClock } from '../testing/index.ts'
import { storeGuard } from './store-health.ts'

/** A store that answers nothing. */
function gone(): Store<'async'> {
  const fail = () => Promise.reject(new SluiceError('ERR_STORE_UNKNOWN', 'connection lost'))
  const clock = fakeClock()
  return {
    timing: 'async',
    clock,
    guard: storeGuard(clock),
    tally: () => ({ ask: fail }),
    clean: fail,
    size: Promise.resolve(0),
    close: async () => {},
  }
}

const LOCAL: FailureOptions = { then: 'local' }

async function hitOnce(rules: string, store: Store<'async'>): Promise<boolean> {
  const limiter = createLimiter({ rules: parseRule(rules), store, failure: LOCAL })
  const { allowed } = await limiter.hit('ada')
  await limiter.close()
  return allowed
}

test('is one for all limiters over a store: a limiter that is made again finds what it has admitted', async () => {
  const store = gone()
  const allowed = []
  for (const rules of ['1/day', '1/day', '1/hour', '1/day']) allowed.push(await hitOnce(rules, store))
  expect(allowed).toEqual([true, false, true, false])
})

test('of another store is another', async () => {
  expect([await hitOnce('1/day', gone()), await hitOnce('1/day', gone())]).toEqual([true, true])
})

test('can be given, with a bound of its own; closing a limiter leaves it open', async () => {
  const store = gone()
  const standIn = memoryStore({ clock: store.clock, maxKeys: 2 })
  const limiter = createLimiter({ rules: parseRule('1/day'), store, failure: { ...LOCAL, standIn } })
  for (const key of ['a', 'b', 'c']) await limiter.hit(key)
  await limiter.close()
  expect([standIn.size, standIn.evictions]).toEqual([2, 1])
  expect(createLimiter({ rules: parseRule('1/day'), store: standIn }).peek('c').allowed).toBe(false)
})

test('is refused where it is no memory store, or would not be asked', () => {
  const make = (failure: object) => () => createLimiter({ rules: parseRule('1/day'), store: gone(), failure })
  for (const standIn of [gone(), {}, null, 'memory']) expect(make({ ...LOCAL, standIn })).toThrow(/standIn.*memoryStore/)
  expect(make({ then: 'deny', standIn: memoryStore() })).toThrow(/only with then: 'local'/)
  expect(make({ standIn: memoryStore() })).toThrow(/only with then: 'local'/)
})

describe('refund with the source of a decision', () => {
  const make = (failure: FailureOptions) =>
    createLimiter({ rules: [fixedWindow({ limit: 9, window: '1d', name: 'a' }), parseRule('9/hour')], store: gone(), failure })

  test('gives back in the stand-in, on all rules or on one', async () => {
    const limiter = make(LOCAL)
    const { source } = await limiter.hit('ada', { cost: 5 })
    expect(await limiter.refund('ada', 2, { source })).toBe(3)
    expect(await limiter.refund('ada', 1, { source, rule: 'a' })).toBe(2)
    expect([await limiter.get('ada'), await limiter.get('ada', { rule: 'fixed-window:9/1h' })]).toEqual([2, 3])
  })

  test('asks nobody if the fallback has counted nothing', async () => {
    for (const then of ['allow', 'deny', 'throw'] as const) {
      const limiter = make({ then })
      expect(await limiter.refund('ada', 1, { source: 'fallback' })).toBe(0)
      expect(limiter.failures.unknown).toBe(0)
    }
  })

  test('fails if the store spent the units and fails now, and the stand-in keeps its own', async () => {
    const limiter = make(LOCAL)
    await limiter.hit('ada')
    await expect(limiter.refund('ada', 1, { source: 'store' })).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
    expect(await limiter.get('ada')).toBe(1)
  })

  test('without a source, the stand-in gives back if the store fails', async () => {
    const limiter = make(LOCAL)
    await limiter.hit('ada')
    expect(await limiter.refund('ada')).toBe(0)
  })

  test('refuses a source that there is not', () => {
    const error = expect.objectContaining({ code: 'ERR_OPTION', option: 'source' })
    expect(() => make(LOCAL).refund('ada', 1, { source: 'redis' as never })).toThrow(error)
    const inMemory = createLimiter({ rules: parseRule('9/hour') })
    inMemory.hit('ada')
    expect(() => inMemory.refund('ada', 1, { source: 'fallback' })).toThrow(error)
    expect(inMemory.get('ada')).toBe(1)
    expect(inMemory.refund('ada', 1, { source: inMemory.peek('ada').source })).toBe(0)
  })
})

describe('holds of a stand-in', () => {
  test.each([
    ['that a limiter without holds has made', {}],
    ['that was passed', { standIn: memoryStore() }],
  ])('%s', async (_, options) => {
    const store = gone()
    const failure: FailureOptions = { ...LOCAL, ...options }
    const rules = fixedWindow({ limit: 5, window: '1h', name: 'shared' })
    const plain = createLimiter({ rules, store, failure })
    expect(await plain.get('ada')).toBe(0)
    const limiter = createLimiter({ rules, store, failure, holds: holds() })
    const hold = await limiter.reserve('ada', { hold: 4 })
    expect(hold).toMatchObject({ allowed: true, decision: { source: 'fallback', remaining: 1 } })
    expect(await plain.hit('ada', { cost: 2 })).toMatchObject({ allowed: false })
    await hold.settle(1)
    expect(await plain.get('ada')).toBe(1)
    await expect(async () => hold.settle()).rejects.toMatchObject({ code: 'ERR_HOLD' })
  })

  test.each(['allow', 'deny'] as const)('there are none under %s, and nothing has to end', async (then) => {
    const limiter = createLimiter({
      rules: fixedWindow({ limit: 5, window: '1h' }),
      store: gone(),
      failure: { then },
      holds: holds(),
    })
    const hold = await limiter.reserve('ada', { hold: 4 })
    expect(hold).toMatchObject({ allowed: then === 'allow', decision: { source: 'fallback' } })
    if (then === 'allow') await hold.settle(1)
  })

  test('a hold of the store is not ended by the stand-in', async () => {
    const clock = fakeClock()
    const store = failingStore(clock)
    const limiter = createLimiter({ rules: fixedWindow({ limit: 5, window: '1h' }), store, failure: LOCAL, holds: holds() })
    const hold = await limiter.reserve('ada', { hold: 4 })
    store.plan = 'lose-call'
    await expect(hold.settle(1)).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
    store.plan = 'answer'
    // Its outcome is unknown, so it is not repeated: at worst the hold expires.
    await expect(async () => hold.settle(1)).rejects.toMatchObject({ code: 'ERR_HOLD' })
  })
})
