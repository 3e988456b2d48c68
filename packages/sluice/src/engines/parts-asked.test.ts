// A call in several parts is answered by some parts and failed by others. Only those that failed it are blamed.

import { expect, test } from 'vitest'
import { toyStore } from '../../test/scripted-toy.ts'
import { createLimiter, type FailureOptions, fixedWindow, SluiceError } from '../index.ts'
import { fakeClock } from '../testing/index.ts'
import { PartsAsked } from './parts-asked.ts'

const fatal = new SluiceError('ERR_STORE_FATAL', 'damaged')
const refused = new SluiceError('ERR_STORE_REFUSED', 'busy')
const unknown = new SluiceError('ERR_STORE_UNKNOWN', 'cut off')
const never = new Promise<never>(() => {})

/** A limiter by two keys, whose first letter is their part. `partDoes` gets each call of a part, and may fail it or let it wait. */
function limiterOn(failure: FailureOptions, partDoes: (part: string, key: string) => unknown) {
  const clock = fakeClock()
  const asked: string[] = []
  const store = toyStore({
    clock,
    most: 1,
    partOf: (key) => key[0],
    before: (part, [{ charges }]) => {
      asked.push(part)
      return partDoes(part, charges[0].key)
    },
  })
  const rules = ['x', 'y'].map((name) => fixedWindow({ limit: 999, window: '1h', name, per: name }))
  const limiter = createLimiter({ rules, store, failure: { timeoutMs: 100, then: 'allow', ...failure } })
  const pass = async (ms: number) => {
    for (let i = 0; i < ms; i += 10) {
      await new Promise(setImmediate)
      clock.advance(10)
    }
    for (let i = 0; i < 5; i++) await new Promise(setImmediate)
  }
  const hit = async (x: string, y: string, ms = 0) => {
    const decision = limiter.hit({ x, y })
    await pass(ms)
    return decision
  }
  return { limiter, asked, pass, hit }
}

test('an open part is asked twice in an interval, also by calls that another part answers with a fatal error', async () => {
  const { limiter, asked, pass, hit } = limiterOn({ failures: 1 }, (part) => {
    if (part === 'b') throw fatal
    return part === 'a' ? never : undefined
  })
  await hit('a', 'c', 100)
  const askedOfA = async (ms: number): Promise<number> => {
    await pass(ms)
    asked.length = 0
    // One after another, at one moment of the clock.
    for (let i = 0; i < 100; i++) await limiter.hit({ x: `a${i}`, y: 'b' })
    return asked.filter((part) => part === 'a').length
  }
  expect([await askedOfA(500), await askedOfA(0), await askedOfA(490), await askedOfA(10)]).toEqual([2, 0, 0, 2])
})

test('an open part that answers is closed, also by a call that another part fails', async () => {
  for (const error of [fatal, unknown]) {
    let isDown = true
    const { limiter, pass, hit } = limiterOn({ failures: 1 }, async (part) => {
      if (part === 'a' && isDown) await never
      if (part !== 'b') return
      await new Promise(setImmediate)
      throw error
    })
    await hit('a', 'c', 100)
    isDown = false
    await pass(500)
    expect(await hit('a', 'b')).toMatchObject({ source: 'fallback' })
    expect(await hit('a', 'c')).toMatchObject({ source: 'store' })
    expect(limiter.failures.recovered).toBe(1)
  }
})

test('a call that waited behind another key and was never asked blames no part', async () => {
  const { limiter, asked, pass, hit } = limiterOn({ failures: 2 }, (part, key) => {
    if (part === 'b') throw key === 'b locked' ? refused : unknown
  })
  const first = hit('c', 'b locked')
  await pass(0)
  const behind = Array.from({ length: 10 }, () => limiter.hit({ x: 'a', y: 'b locked' }))
  await Promise.all([hit('c1', 'b1'), hit('c2', 'b2')])
  await pass(10)
  for (const call of [first, ...behind]) expect(await call).toMatchObject({ failure: { reason: 'refused' } })
  expect(asked).not.toContain('a')
  expect(await hit('c3', 'b3')).toMatchObject({ failure: { reason: 'not-asked' } })
  expect(await hit('a', 'd')).toMatchObject({ source: 'store' })
})

test('an error that is not the store’s blames no part', async () => {
  const { limiter, hit } = limiterOn({ failures: 1 }, (part) => {
    if (part === 'b') throw new SluiceError('ERR_CLOCK', 'no time')
  })
  await expect(limiter.hit({ x: 'a', y: 'b' })).rejects.toMatchObject({ code: 'ERR_CLOCK' })
  expect(await hit('a', 'd')).toMatchObject({ source: 'store' })
})

test('outcomes: a server that has failed is to blame, else those that are silent, unless a fatal answer ended the call', async () => {
  const outcomesOf = async (...answers: [server: string, answer: Promise<unknown>][]) => {
    const asked = new PartsAsked()
    for (const [server, answer] of answers) asked.note(server, answer).catch(() => {})
    await new Promise(setImmediate)
    return asked.outcomes
  }
  const good = Promise.resolve()
  const bad = Promise.reject(unknown)
  const damaged = Promise.reject(fatal)
  for (const rejected of [bad, damaged]) rejected.catch(() => {})
  expect(await outcomesOf(['a', good], ['b', bad], ['c', never])).toEqual({ answered: ['a'], failed: ['b'] })
  expect(await outcomesOf(['a', good], ['b', never])).toEqual({ answered: ['a'], failed: ['b'] })
  expect(await outcomesOf(['a', good], ['b', damaged], ['c', never])).toEqual({ answered: ['a', 'b'], failed: [] })
  expect(await outcomesOf(['a', good], ['a', never], ['b', good])).toEqual({ answered: ['b'], failed: ['a'] })
  expect(await outcomesOf(['a', good], ['a', bad], ['b', damaged])).toEqual({ answered: ['b'], failed: ['a'] })
})
