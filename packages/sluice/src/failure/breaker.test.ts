import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fakeClock } from '../testing/index.ts'
import { Breaker } from './breaker.ts'

function breaker(failures: number, probeEveryMs: number) {
  const clock = fakeClock()
  const subject = new Breaker(clock, failures, probeEveryMs)
  const enter = (): number => {
    const era = subject.enter()
    if (era === undefined) throw new Error('the breaker lets nobody in')
    return era
  }
  const open = (): void => {
    for (let i = 0; i < failures; i++) subject.failed(enter())
  }
  return { clock, subject, enter, open }
}

test('opens with the last failure of a run, and an answer ends the run', () => {
  const { subject, enter } = breaker(3, 100)
  subject.failed(enter())
  subject.failed(enter())
  subject.answered()
  subject.failed(enter())
  subject.failed(enter())
  expect(subject.isOpen).toBe(false)
  subject.failed(enter())
  expect(subject.isOpen).toBe(true)
})

test('open: nobody asks until the interval is over, then one, and the next an interval after that one failed', () => {
  const { clock, subject, enter, open } = breaker(2, 100)
  open()
  expect(subject.enter()).toBeUndefined()
  clock.advance(99)
  expect(subject.enter()).toBeUndefined()
  clock.advance(1)
  const probe = enter()
  expect(subject.enter()).toBeUndefined()
  clock.advance(500)
  expect(subject.enter()).toBeUndefined()
  subject.failed(probe)
  clock.advance(99)
  expect(subject.enter()).toBeUndefined()
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
  expect(subject.enter()).toBeUndefined()
  clock.advance(1)
  enter()
  expect(subject.enter()).toBeUndefined()
  subject.answered()
  expect(subject.isOpen).toBe(false)
})

test('failures of calls from before it opened neither end a probe nor put the next one off', () => {
  const { clock, subject, enter, open } = breaker(2, 100)
  const early = [enter(), enter(), enter()]
  open()
  clock.advance(60)
  subject.failed(early[0])
  clock.advance(40)
  const probe = enter()
  subject.failed(early[1])
  expect(subject.enter()).toBeUndefined()
  subject.failed(probe)
  expect(subject.isOpen).toBe(true)
})

test('failures of calls from before it closed do not open it again', () => {
  const { clock, subject, enter, open } = breaker(2, 100)
  const early = [enter(), enter(), enter()]
  open()
  clock.advance(100)
  enter()
  subject.answered()
  for (const era of early) subject.failed(era)
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

test('whatever comes in whatever order: one probe at a time, and no more than the interval allows', () => {
  const nth = fc.nat({ max: 20 })
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.constant({ kind: 'ask' as const }) },
    { weight: 3, arbitrary: nth.map((nth) => ({ kind: 'fail' as const, nth })) },
    { weight: 1, arbitrary: nth.map((nth) => ({ kind: 'answer' as const, nth })) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 150 }).map((ms) => ({ kind: 'pass' as const, ms })) },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const { clock, subject } = breaker(3, 100)
      const underWay: number[] = []
      let probe: number | undefined
      let noProbeBeforeMs = 0
      for (const step of steps) {
        if (step.kind === 'pass') clock.advance(step.ms)
        if (step.kind === 'ask') {
          const era = subject.enter()
          if (subject.isOpen) expect(era === undefined).toBe(probe !== undefined || clock.now() < noProbeBeforeMs)
          if (era === undefined) continue
          if (subject.isOpen) probe = era
          underWay.push(era)
        }
        if (step.kind === 'fail' && underWay.length > 0) {
          const wasOpen = subject.isOpen
          const [era] = underWay.splice(step.nth % underWay.length, 1)
          subject.failed(era)
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
