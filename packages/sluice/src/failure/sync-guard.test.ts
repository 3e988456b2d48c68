// A synchronous store that can fail: limiters over it have a breaker and a fallback, and answer at once.

import { expect, test } from 'vitest'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { SluiceError } from '../core/errors.ts'
import type { FailureEvent, FailureOptions } from '../core/guard.ts'
import { createLimiter } from '../create-limiter.ts'
import { inPlaceStore } from '../engines/in-place.ts'
import { fakeClock } from '../testing/fake-clock.ts'

const rules = fixedWindow({ limit: 3, window: '1h', name: 'hourly' })

/** A store in a map that throws `trouble.error` if it is set, and a limiter over it. */
function limiterOver(failure: FailureOptions = {}) {
  const clock = fakeClock()
  const trouble: { error?: unknown; asked: number } = { asked: 0 }
  const states = new Map<string, Float64Array>()
  const store = inPlaceStore({
    clock,
    read(name) {
      trouble.asked += 1
      if (trouble.error !== undefined) throw trouble.error
      return states.get(name)
    },
    write(name, cells) {
      if (trouble.error !== undefined) throw trouble.error
      if (cells === undefined) states.delete(name)
      else states.set(name, cells)
    },
    clean: () => 0,
    size: () => states.size,
    sortError: (error) => (error as { kind?: 'refused' | 'unknown' | 'fatal' }).kind,
  })
  return { clock, trouble, store, limiter: createLimiter({ rules, store, failure }) }
}

const failing = (kind: string) => Object.assign(new Error(`it is ${kind}`), { kind })

test.each([
  ['refused', 'ERR_STORE_REFUSED'],
  ['unknown', 'ERR_STORE_UNKNOWN'],
  ['fatal', 'ERR_STORE_FATAL'],
] as const)('a call that is %s throws %s by default, is counted and reported', (kind, code) => {
  const { limiter, trouble } = limiterOver()
  const events: FailureEvent[] = []
  limiter.on('failure', (event) => events.push(event))
  trouble.error = failing(kind)
  expect(() => limiter.hit('ada')).toThrow(expect.objectContaining({ code }))
  expect(limiter.failures).toMatchObject({ [kind]: 1, recovered: 0 })
  expect(events).toEqual([{ reason: kind, error: expect.objectContaining({ code }) }])
})

test('the fallback answers at once, and the store again when it works', () => {
  const { limiter, trouble } = limiterOver({ then: 'local' })
  let recovered = 0
  limiter.on('recovered', () => (recovered += 1))
  trouble.error = failing('unknown')
  expect([1, 2, 3, 4].map(() => limiter.hit('ada').allowed)).toEqual([true, true, true, false])
  expect(limiter.hit('bob')).toMatchObject({ source: 'fallback', failure: { reason: 'unknown', then: 'local' } })
  trouble.error = undefined
  expect(limiter.failures['not-asked']).toBe(0)
  // Five failures in a row have opened the breaker.
  expect(limiter.hit('ada')).toMatchObject({ allowed: false, failure: { reason: 'not-asked' } })
  expect(recovered).toBe(0)
})

test('an open breaker keeps calls from the store, and a probe closes it', () => {
  const { limiter, trouble, clock } = limiterOver({ then: 'deny', failures: 2, probeEveryMs: 100 })
  trouble.error = failing('refused')
  for (let i = 0; i < 10; i++) expect(limiter.hit('ada')).toMatchObject({ allowed: false, retryAfterMs: 100 })
  expect([trouble.asked, limiter.failures.refused, limiter.failures['not-asked']]).toEqual([2, 2, 8])
  clock.advance(100)
  limiter.hit('ada')
  limiter.hit('ada')
  expect(trouble.asked).toBe(3)
  trouble.error = undefined
  clock.advance(100)
  expect(limiter.hit('ada')).toMatchObject({ source: 'store', remaining: 2 })
  expect(limiter.failures.recovered).toBe(1)
})

test('limiters over one store share its breaker and its stand-in', () => {
  const { limiter, trouble, store } = limiterOver({ then: 'local', failures: 1 })
  const other = createLimiter({ rules, store, failure: { then: 'local', failures: 1 } })
  trouble.error = failing('refused')
  for (const each of [limiter, limiter, other]) each.hit('ada')
  expect([trouble.asked, other.failures['not-asked'], other.hit('ada').allowed]).toEqual([1, 1, false])
})

test('a fatal answer does not open the breaker', () => {
  const { limiter, trouble } = limiterOver({ then: 'allow', failures: 1 })
  trouble.error = failing('fatal')
  for (let i = 0; i < 3; i++) limiter.hit('ada')
  expect([trouble.asked, limiter.failures.fatal, limiter.failures['not-asked']]).toEqual([3, 3, 0])
})

test('an error that is not about the store is thrown, whatever the fallback', () => {
  const { limiter, trouble } = limiterOver({ then: 'allow', failures: 1 })
  trouble.error = new SluiceError('ERR_CLOCK', 'the clock has stopped')
  for (let i = 0; i < 3; i++) expect(() => limiter.hit('ada')).toThrow(expect.objectContaining({ code: 'ERR_CLOCK' }))
  expect(limiter.failures).toMatchObject({ refused: 0, unknown: 0, fatal: 0, 'not-asked': 0 })
})

test('only decisions have a fallback that counts nothing', () => {
  const { limiter, trouble } = limiterOver({ then: 'allow' })
  trouble.error = failing('refused')
  expect(limiter.peek('ada').allowed).toBe(true)
  expect(() => limiter.get('ada')).toThrow(expect.objectContaining({ code: 'ERR_STORE_REFUSED' }))
})

test('a refund goes to where the units were spent, and a reset to both', () => {
  const { limiter, trouble } = limiterOver({ then: 'local', failures: 100 })
  limiter.hit('ada')
  trouble.error = failing('unknown')
  limiter.hit('ada', { cost: 2 })
  expect(() => limiter.refund('ada', 1, { source: 'store' })).toThrow(expect.objectContaining({ code: 'ERR_STORE_UNKNOWN' }))
  expect(limiter.refund('ada', 1, { source: 'fallback' })).toBe(1)
  trouble.error = undefined
  expect(limiter.refund('ada', 1, { source: 'fallback' })).toBe(0)
  expect(limiter.get('ada')).toBe(1)
  limiter.reset('ada')
  trouble.error = failing('unknown')
  expect(limiter.get('ada')).toBe(0)
})

test('wrong options are refused when the limiter is made', () => {
  expect(() => limiterOver({ failures: 0 })).toThrow(expect.objectContaining({ code: 'ERR_OPTION', option: 'failures' }))
})
