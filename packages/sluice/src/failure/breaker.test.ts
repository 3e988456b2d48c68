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

test('a probe that never ends, as of a request that was cancelled, is followed by another', () => {
  const { clock, subject, enter, open } = breaker(2, 100)
  open()
  clock.advance(100)
  enter()
  clock.advance(29_999)
  expect(subject.enter(ada)).toBeUndefined()
  clock.advance(1)
  enter()
  expect(subject.enter(ada)).toBeUndefined()
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

test('a key that failed with all others may have the second try: one locked key does not keep it open for others', () => {
  const { clock, subject, open } = breaker(2, 100)
  open()
  // The store is down: both fail.
  clock.advance(100)
  for (const call of [on('ada'), on('bob')]) subject.failed(subject.enter(call) as number, call)
  // The store is back. Ada stays locked, and is always the first to ask.
  let answers = 0
  for (let ms = 0; ms < 400 && answers === 0; ms += 10) {
    clock.advance(10)
    const locked = on('ada')
    const era = subject.enter(locked)
    if (subject.enter(on('bob')) !== undefined) answers += 1
    if (era !== undefined) subject.failed(era, locked)
  }
  expect(answers).toBe(1)
})

test.each([2, 5, 20])('%i locked keys that always ask first do not keep it open for another', (count) => {
  const { clock, subject, open } = breaker(2, 100)
  open()
  const lockedKeys = Array.from({ length: count }, (_, i) => `locked ${i}`)
  const answeredAfter = (): number => {
    for (let round = 1; ; round++) {
      clock.advance(100)
      for (const key of lockedKeys) {
        const call = on(key)
        const era = subject.enter(call)
        if (era !== undefined) subject.failed(era, call)
      }
      const bob = on('bob')
      const era = subject.enter(bob)
      if (era === undefined) expect(round).toBeLessThan(2 * count + 2)
      else {
        subject.failed(era, bob)
        return round
      }
    }
  }
  answeredAfter()
  // Bob has had a turn now, in vain. The next one comes as well.
  answeredAfter()
})

test('each try that fails leaves the second one to further keys, one in each interval', () => {
  const { clock, subject, open } = breaker(2, 100)
  open()
  const tried = ['ada']
  for (const key of ['bob', 'cyd', 'dot']) {
    clock.advance(100)
    const [first, second] = [on('ada'), on(key)]
    const era = subject.enter(first) as number
    for (const each of tried) expect(subject.enter(on(each)), `${each} beside ${key}`).toBeUndefined()
    expect(subject.enter(second)).toBe(era)
    subject.failed(era, second)
    expect(subject.enter(on('new'))).toBeUndefined()
    subject.failed(era, first)
    tried.push(key)
  }
})

test('a second try that nobody took for an interval is for every other key, also after the clock stepped back', () => {
  for (const stepMs of [200, -3_600_000]) {
    const { clock, subject, open } = breaker(2, 100)
    open()
    clock.advance(100)
    const locked = on('ada')
    const era = subject.enter(locked) as number
    const bob = on('bob')
    subject.failed(subject.enter(bob) as number, bob)
    clock.advance(100)
    expect(subject.enter(on('bob'))).toBeUndefined()
    clock.set(clock.now() + stepMs)
    subject.failed(era, locked)
    expect(subject.enter(on('bob'))).toBeDefined()
  }
})

test('the second try is for another key than the latest first one', () => {
  const { clock, subject, open } = breaker(2, 100)
  open()
  for (const [first, second] of [
    ['ada', 'cyd'],
    ['bob', 'ada'],
  ]) {
    clock.advance(100)
    const call = on(first)
    const era = subject.enter(call) as number
    expect(subject.enter(on(first))).toBeUndefined()
    const other = on(second)
    expect(subject.enter(other), `${second} beside ${first}`).toBe(era)
    for (const each of [call, other]) subject.failed(era, each)
  }
})

test('however many keys have had the second try, not all are remembered', () => {
  const { clock, subject, open } = breaker(2, 100)
  open()
  clock.advance(100)
  subject.enter(on('ada'))
  for (let i = 0; i < 101; i++) {
    const call = on(`key ${i}`)
    subject.failed(subject.enter(call) as number, call)
    clock.advance(100)
  }
  expect(subject.enter(on('key 0'))).toBeDefined()
})

test('a call that does not ask makes way for the next one at once', () => {
  const { clock, subject, open } = breaker(2, 100)
  open()
  clock.advance(100)
  for (const keys of [['ada'], ['bob']]) {
    const call = on(...keys)
    subject.leave(subject.enter(call) as number, call)
    expect(subject.enter(on(...keys)), `again on ${keys}`).toBeDefined()
  }
  expect(subject.enter(on('cyd'))).toBeUndefined()
})

test('a call that has asked and says nothing makes way after the interval', () => {
  const { clock, subject, open } = breaker(2, 100)
  open()
  clock.advance(100)
  for (const call of [on('ada'), on('bob')]) subject.endedUnknown(subject.enter(call) as number, call)
  const enter = () => ['cyd', 'dot', 'eve'].filter((key) => subject.enter(on(key)) !== undefined)
  expect(enter()).toEqual([])
  clock.advance(99)
  expect(enter()).toEqual([])
  clock.advance(1)
  expect(enter()).toEqual(['cyd', 'dot'])
  expect(subject.isOpen).toBe(true)
})

test('a call that says nothing is no failure', () => {
  const { subject, enter } = breaker(1, 100)
  subject.endedUnknown(enter(), ada)
  expect(subject.isOpen).toBe(false)
})

test('after an answer nothing is remembered of the keys that have had a turn', () => {
  const { clock, subject, open } = breaker(2, 100)
  for (let i = 0; i < 2; i++) {
    open()
    clock.advance(100)
    const era = subject.enter(on('ada')) as number
    const bob = on('bob')
    expect(subject.enter(bob)).toBe(era)
    subject.failed(era, bob)
    subject.answered()
  }
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

test('on whatever keys, and however calls end: three probes in a row take an interval at least', () => {
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ kind: fc.constant('ask' as const), keys: fc.subarray(['ada', 'bob', 'cyd'], { minLength: 1 }) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constantFrom('failed' as const, 'endedUnknown' as const), nth: fc.nat({ max: 20 }) }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 150 }) }) },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const { clock, subject, open } = breaker(3, 100)
      open()
      const underWay: { era: number; call: Call }[] = []
      const startsMs: number[] = []
      for (const step of steps) {
        if (step.kind === 'pass') clock.advance(step.ms)
        else if (step.kind === 'ask') {
          const call = on(...step.keys)
          const era = subject.enter(call)
          if (era === undefined) continue
          underWay.push({ era, call })
          expect(underWay.length).toBeLessThanOrEqual(2)
          startsMs.push(clock.now())
        } else {
          for (const { era, call } of underWay.splice(step.nth % Math.max(1, underWay.length), 1)) subject[step.kind](era, call)
        }
      }
      for (let i = 2; i < startsMs.length; i++) expect(startsMs[i] - startsMs[i - 2]).toBeGreaterThanOrEqual(100)
    }),
    { numRuns: 300 },
  )
})
