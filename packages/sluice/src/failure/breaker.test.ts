import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Call } from '../core/call.ts'
import { fakeClock } from '../testing/index.ts'
import { Breaker } from './breaker.ts'

/** A hit on the given keys. */
const on = (...keys: string[]): Call => ({ operation: 'hit', charges: keys.map((key, rule) => ({ rule, key, amount: 1 })) })

const ada = on('ada')

function breaker(failures: number, probeEveryMs: number) {
  const clock = fakeClock()
  const subject = new Breaker(clock, failures, probeEveryMs)
  const enter = (): number => {
    const era = subject.enter(ada)
    if (era === undefined) throw new Error('the breaker lets nobody in')
    return era
  }
  const open = (): void => {
    for (let i = 0; i < failures; i++) subject.failed(enter(), ada)
  }
  return { clock, subject, enter, open }
}

test('opens with the last failure of a run, and an answer ends the run', () => {
  const { subject, enter } = breaker(3, 100)
  subject.failed(enter(), ada)
  subject.failed(enter(), ada)
  subject.answered()
  subject.failed(enter(), ada)
  subject.failed(enter(), ada)
  expect(subject.isOpen).toBe(false)
  subject.failed(enter(), ada)
  expect(subject.isOpen).toBe(true)
})

test('open: nobody asks until the interval is over, then one, and the next an interval after that one failed', () => {
  const { clock, subject, enter, open } = breaker(2, 100)
  open()
  expect(subject.enter(ada)).toBeUndefined()
  clock.advance(99)
  expect(subject.enter(ada)).toBeUndefined()
  clock.advance(1)
  const probe = enter()
  expect(subject.enter(ada)).toBeUndefined()
  clock.advance(500)
  expect(subject.enter(ada)).toBeUndefined()
  subject.failed(probe, ada)
  clock.advance(99)
  expect(subject.enter(ada)).toBeUndefined()
  clock.advance(1)
  enter()
  subject.answered()
  expect(subject.isOpen).toBe(false)
})

test('failures of calls from before it opened neither end a probe nor put the next one off', () => {
  const { clock, subject, enter, open } = breaker(2, 100)
  const early = [enter(), enter(), enter()]
  open()
  clock.advance(60)
  subject.failed(early[0], ada)
  clock.advance(40)
  const probe = enter()
  subject.failed(early[1], ada)
  expect(subject.enter(ada)).toBeUndefined()
  subject.failed(probe, ada)
  expect(subject.isOpen).toBe(true)
})

test('failures of calls from before it closed do not open it again', () => {
  const { clock, subject, enter, open } = breaker(2, 100)
  const early = [enter(), enter(), enter()]
  open()
  clock.advance(100)
  enter()
  subject.answered()
  for (const era of early) subject.failed(era, ada)
  expect(subject.isOpen).toBe(false)
})

test('an answer to a call from before it opened closes it: the store is there', () => {
  const { subject, enter, open } = breaker(2, 100)
  enter()
  open()
  subject.answered()
  expect(subject.isOpen).toBe(false)
})

test('a clock that steps back by an hour does not leave the store unasked for an hour', () => {
  const { clock, enter, open } = breaker(2, 100)
  open()
  clock.set(clock.now() - 3_600_000)
  enter()
})

test('a locked key does not keep it open: a call on another key may try too, and no third one', () => {
  const { clock, subject, open } = breaker(2, 100)
  open()
  expect(subject.enter(on('bob')), 'before the interval is over').toBeUndefined()
  clock.advance(100)
  const locked = on('ada')
  const era = subject.enter(locked) as number
  expect(subject.enter(on('ada'))).toBeUndefined()
  expect(subject.enter(on('ada', 'bob')), 'a call with another key besides').toBeDefined()
  expect(subject.enter(on('cyd'))).toBeUndefined()
  subject.failed(era, locked)
  expect(subject.enter(on('cyd')), 'the second call is still under way').toBeUndefined()
  subject.answered()
  expect(subject.isOpen).toBe(false)
})

test('a call on a key that has not failed tries alone', () => {
  const { clock, subject, open } = breaker(2, 100)
  open()
  clock.advance(100)
  expect(subject.enter(on('bob'))).toBeDefined()
  expect(subject.enter(on('cyd'))).toBeUndefined()
})

test('each try that fails leaves the second one to further keys, one in each interval', () => {
  const { clock, subject, open } = breaker(2, 100)
  open()
  const failed = ['ada']
  for (const key of ['bob', 'cyd', 'dot']) {
    clock.advance(100)
    const [first, second] = [on('ada'), on(key)]
    const era = subject.enter(first) as number
    for (const each of failed) expect(subject.enter(on(each)), `${each} beside ${key}`).toBeUndefined()
    expect(subject.enter(second)).toBe(era)
    subject.failed(era, second)
    expect(subject.enter(on('new'))).toBeUndefined()
    subject.failed(era, first)
    failed.push(key)
  }
})

test('a second call that says nothing about the store makes way for the next one', () => {
  const { clock, subject, open } = breaker(2, 100)
  open()
  clock.advance(100)
  const era = subject.enter(on('ada')) as number
  const second = on('bob')
  subject.enter(second)
  subject.leave(era, second)
  expect(subject.enter(on('cyd'))).toBeDefined()
})

test('after an answer nothing is remembered of the keys that had failed', () => {
  const { clock, subject, enter, open } = breaker(2, 100)
  open()
  subject.answered()
  for (let i = 0; i < 2; i++) subject.failed(enter(), on('bob'))
  clock.advance(100)
  expect(subject.enter(on('ada')), 'not a failed key').toBeDefined()
  expect(subject.enter(on('cyd')), 'so no second call').toBeUndefined()
})

test('whatever comes in whatever order: one probe at a time, and no more than the interval allows', () => {
  const nth = fc.nat({ max: 20 })
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.constant({ kind: 'ask' as const }) },
    { weight: 3, arbitrary: nth.map((nth) => ({ kind: 'fail' as const, nth })) },
    { weight: 1, arbitrary: nth.map((nth) => ({ kind: 'answer' as const, nth })) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 150 }).map((ms) => ({ kind: 'pass' as const, ms })) },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const { clock, subject } = breaker(3, 100)
      const underWay: number[] = []
      let probe: number | undefined
      let noProbeBeforeMs = 0
      for (const step of steps) {
        if (step.kind === 'pass') clock.advance(step.ms)
        if (step.kind === 'ask') {
          const era = subject.enter(ada)
          if (subject.isOpen) expect(era === undefined).toBe(probe !== undefined || clock.now() < noProbeBeforeMs)
          if (era === undefined) continue
          if (subject.isOpen) probe = era
          underWay.push(era)
        }
        if (step.kind === 'fail' && underWay.length > 0) {
          const wasOpen = subject.isOpen
          const [era] = underWay.splice(step.nth % underWay.length, 1)
          subject.failed(era, ada)
          if (subject.isOpen && (!wasOpen || era === probe)) {
            probe = undefined
            noProbeBeforeMs = clock.now() + 100
          }
        }
        if (step.kind === 'answer' && underWay.length > 0) {
          underWay.splice(step.nth % underWay.length, 1)
          subject.answered()
          expect(subject.isOpen).toBe(false)
          probe = undefined
        }
      }
    }),
    { numRuns: 500 },
  )
})
