import { describe, expect, test } from 'vitest'
import type { Call, Operation } from '../core/call.ts'
import { parseRule } from '../index.ts'
import { type CallPlan, failingStore, fakeClock, storeSuite } from './index.ts'

storeSuite('a failing store that does not fail', (clock) => failingStore(clock), { steps: 200 })

function setUp() {
  const clock = fakeClock()
  const store = failingStore(clock)
  return { clock, store, tally: store.tally([parseRule('5/minute')]) }
}

/** A call on one rule and one key. */
const call = (operation: Operation, key = 'ada', amount = 1): Call => ({ operation, charges: [{ rule: 0, key, amount }] })

/** The outcome of a promise so far. */
async function soFar(promise: Promise<unknown>): Promise<unknown> {
  const outcome = promise.catch((error) => error.code ?? error)
  await new Promise(setImmediate)
  return Promise.race([outcome, 'nothing'])
}

describe('the plan', () => {
  test.each<[CallPlan, unknown, number]>([
    ['answer', [1, 0, 60_000], 1],
    ['stall', 'nothing', 0],
    ['refuse', 'ERR_STORE_REFUSED', 0],
    ['lose-call', 'ERR_STORE_UNKNOWN', 0],
    ['lose-answer', 'ERR_STORE_UNKNOWN', 1],
    ['fatal', 'ERR_STORE_FATAL', 0],
    [{ fail: 'socket hang up' }, 'socket hang up', 0],
  ])('%j decides what the caller hears, and what was counted', async (plan, heard, used) => {
    const { store, tally } = setUp()
    store.plan = plan
    expect(await soFar(tally.ask(call('hit')))).toEqual(heard)
    store.plan = 'answer'
    expect(await tally.ask(call('get'))).toEqual([used])
  })

  test('holds for everything that the store is asked', async () => {
    const { store, tally } = setUp()
    store.plan = 'refuse'
    const asked = [tally.ask(call('peek')), tally.ask(call('reset')), store.clean(), store.size]
    expect(await Promise.all(asked.map(soFar))).toEqual(asked.map(() => 'ERR_STORE_REFUSED'))
  })

  test('can throw in place of a promise', () => {
    const { store, tally } = setUp()
    store.plan = { throw: new TypeError('no promise') }
    expect(() => tally.ask(call('hit'))).toThrow('no promise')
  })

  test('can be a function of the call', async () => {
    const { store, tally } = setUp()
    store.plan = ({ call }) => (call?.charges[0].key === 'bob' ? 'refuse' : 'answer')
    expect(await soFar(tally.ask(call('hit')))).toEqual([1, 0, 60_000])
    expect(await soFar(tally.ask(call('hit', 'bob')))).toBe('ERR_STORE_REFUSED')
  })

  test('late: the call is made after the way there, and answered after the way back', async () => {
    const { clock, store, tally } = setUp()
    store.plan = { thereMs: 30, backMs: 20 }
    const hit = tally.ask(call('hit'))
    clock.advance(29)
    expect(await soFar(hit)).toBe('nothing')
    expect(store.calls[0].answer).toBeUndefined()
    clock.advance(1)
    expect(await soFar(hit)).toBe('nothing')
    expect(store.calls[0].answer).toEqual([1, 0, 60_000])
    clock.advance(20)
    expect(await soFar(hit)).toEqual([1, 0, 60_000])
  })
})

test('release executes stalled calls in the order in which they came, as many as requested', async () => {
  const { store, tally } = setUp()
  store.plan = 'stall'
  const hits = [1, 2, 3].map(() => tally.ask(call('hit')))
  store.release(2)
  expect(await Promise.all(hits.map(soFar))).toEqual([[1, 0, 60_000], [2, 0, 60_000], 'nothing'])
  store.release()
  expect(await soFar(hits[2])).toEqual([3, 0, 60_000])
})

test('calls are kept with their time', async () => {
  const { clock, store, tally } = setUp()
  const startMs = clock.now()
  await tally.ask(call('hit'))
  clock.advance(5)
  await store.clean()
  expect(store.calls.map(({ method, call, atMs }) => [method, call, atMs - startMs])).toEqual([
    ['ask', call('hit'), 0],
    ['clean', undefined, 5],
  ])
})

test('parts of the store are named by the caller', () => {
  const store = failingStore(fakeClock(), { partOf: (key) => key[0] })
  expect(store.tally([]).partsOf?.(call('hit'))).toEqual(['a'])
})
