import { describe, expect, test } from 'vitest'
import { createLimiter } from '../index.ts'
import { type CallPlan, failingStore, fakeClock, storeSuite } from './index.ts'

storeSuite('a failing store that does not fail', (clock) => failingStore(clock), { steps: 200 })

function setUp() {
  const clock = fakeClock()
  const store = failingStore(clock)
  return { clock, store, tally: store.tally(createLimiter({ rules: '5/minute' }).rules) }
}

/** The outcome of a promise so far. */
async function soFar(promise: Promise<unknown>): Promise<unknown> {
  const outcome = promise.catch((error) => error.code ?? error)
  await new Promise(setImmediate)
  return Promise.race([outcome, 'nothing'])
}

describe('the plan', () => {
  test.each<[CallPlan, unknown, number]>([
    ['answer', expect.objectContaining({ allowed: true }), 1],
    ['stall', 'nothing', 0],
    ['refuse', 'ERR_STORE_REFUSED', 0],
    ['lose-call', 'ERR_STORE_UNKNOWN', 0],
    ['lose-answer', 'ERR_STORE_UNKNOWN', 1],
    ['fatal', 'ERR_STORE_FATAL', 0],
    [{ fail: 'socket hang up' }, 'socket hang up', 0],
  ])('%j decides what the caller hears, and what was counted', async (plan, heard, used) => {
    const { store, tally } = setUp()
    store.plan = plan
    expect(await soFar(tally.hit('ada', 1))).toEqual(heard)
    store.plan = 'answer'
    expect(await tally.get(0, 'ada')).toBe(used)
  })

  test('holds for every method', async () => {
    const { store, tally } = setUp()
    store.plan = 'refuse'
    const asked = [
      tally.peek('ada', 1),
      tally.inc(0, 'ada', 1),
      tally.get(0, 'ada'),
      tally.set(0, 'ada', 1),
      tally.expiresAt(0, 'ada'),
      tally.refund('ada', 1),
      tally.reset('ada'),
      store.clean(),
      store.size,
    ]
    expect(await Promise.all(asked.map(soFar))).toEqual(asked.map(() => 'ERR_STORE_REFUSED'))
  })

  test('can throw in place of a promise', () => {
    const { store, tally } = setUp()
    store.plan = { throw: new TypeError('no promise') }
    expect(() => tally.hit('ada', 1)).toThrow('no promise')
  })

  test('can be a function of the call', async () => {
    const { store, tally } = setUp()
    store.plan = ({ method, args: [key] }) => (method === 'hit' && key === 'bob' ? 'refuse' : 'answer')
    expect(await soFar(tally.hit('ada', 1))).toMatchObject({ allowed: true })
    expect(await soFar(tally.hit('bob', 1))).toBe('ERR_STORE_REFUSED')
  })

  test('late: the call is made after the way there, and answered after the way back', async () => {
    const { clock, store, tally } = setUp()
    store.plan = { thereMs: 30, backMs: 20 }
    const hit = tally.hit('ada', 1)
    clock.advance(29)
    expect(await soFar(hit)).toBe('nothing')
    expect(store.calls[0].answer).toBeUndefined()
    clock.advance(1)
    expect(await soFar(hit)).toBe('nothing')
    expect(store.calls[0].answer).toMatchObject({ allowed: true })
    clock.advance(20)
    expect(await soFar(hit)).toMatchObject({ remaining: 4 })
  })
})

test('release makes stalled calls in the order in which they came, as many as it is told', async () => {
  const { store, tally } = setUp()
  store.plan = 'stall'
  const hits = [1, 2, 3].map(() => tally.hit('ada', 1))
  store.release(2)
  expect(await Promise.all(hits.map(soFar))).toMatchObject([{ remaining: 4 }, { remaining: 3 }, 'nothing'])
  store.release()
  expect(await soFar(hits[2])).toMatchObject({ remaining: 2 })
})

test('calls are kept with their time', async () => {
  const { clock, store, tally } = setUp()
  const startMs = clock.now()
  await tally.hit('ada', 2)
  clock.advance(5)
  await tally.reset('ada')
  expect(store.calls.map(({ method, args, atMs }) => [method, args, atMs - startMs])).toEqual([
    ['hit', ['ada', 2], 0],
    ['reset', ['ada'], 5],
  ])
})

test('parts of the store are named by the caller', () => {
  const store = failingStore(fakeClock(), { partOf: (key) => key[0] })
  expect(store.tally([]).partOf?.('ada')).toBe('a')
})
