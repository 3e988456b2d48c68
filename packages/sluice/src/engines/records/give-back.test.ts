import { expect, test } from 'vitest'
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts'
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts'
import { slidingWindow } from '../../algorithms/sliding-window/sliding-window.ts'
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts'
import type { Rule } from '../../core/rule.ts'
import { everyRule } from '../../testing/example-rules.ts'
import { type Cells, runCall } from '../loaded-states.ts'
import { type Charged, takenBack } from './give-back.ts'

const NOW = 1_763_193_637_123

function hit(rule: Rule, cells: Cells, amount: number, nowMs: number): Float64Array {
  const call = { operation: 'hit', charges: [{ rule: 0, key: 'k', amount }] } as const
  const { changes } = runCall({ call, rules: [rule], names: ['k'] }, () => cells, nowMs)
  if (changes[0]?.cells === undefined) throw new Error('the hit was denied')
  return changes[0].cells
}

function charge(rule: Rule, before: Cells, amount: number, nowMs: number): Charged {
  return { rule, name: 'k', key: 'k', amount, before, after: hit(rule, before, amount, nowMs) }
}

function used(rule: Rule, cells: Cells, nowMs: number): number {
  const call = { operation: 'get', charges: [{ rule: 0, key: 'k', amount: 0 }] } as const
  return runCall({ call, rules: [rule], names: ['k'] }, () => cells, nowMs).figures[0]
}

function afterTakingBack(charged: Charged, kept: Cells, nowMs: number): Cells {
  const changes = takenBack(charged, () => kept, nowMs)
  return changes.length === 0 ? kept : changes[0].cells
}

test.each(everyRule().map((rule) => [rule.name, rule] as const))(
  'a state that nobody changed becomes what it was: %s',
  (_, rule) => {
    const first = hit(rule, undefined, 1, NOW)
    expect(afterTakingBack(charge(rule, undefined, 2, NOW), charge(rule, undefined, 2, NOW).after, NOW)).toBeUndefined()
    const later = charge(rule, first, 2, NOW + 1)
    expect(afterTakingBack(later, later.after, NOW + 2)).toEqual(first)
  },
)

test.each(everyRule().map((rule) => [rule.name, rule] as const))('units that others charged stay: %s', (_, rule) => {
  const charged = charge(rule, undefined, 2, NOW)
  const kept = hit(rule, charged.after, 1, NOW)
  // A meter may keep less than it drains in a millisecond: whole milliseconds do not tell more.
  expect(used(rule, afterTakingBack(charged, kept, NOW), NOW + 1)).toBe(1)
})

test.each([
  ['a fixed window that ended', fixedWindow({ limit: 5, window: 1000 }), 1000],
  ['a fixed window on the clock that ended', fixedWindow({ limit: 5, window: 1000, anchor: 'clock' }), 1000],
  ['a log whose entries left', slidingLog({ limit: 5, window: 1000 }), 1000],
  ['a sliding window that went on twice', slidingWindow({ limit: 5, window: 1000 }), 2000],
  ['a bucket that is full again', tokenBucket({ capacity: 5, refill: 5, every: 1000 }), 1000],
] as const)('nothing is taken from what was charged after: %s', (_, rule, laterMs) => {
  const charged = charge(rule, undefined, 2, NOW)
  const kept = hit(rule, charged.after, 2, NOW + laterMs)
  const before = used(rule, kept, NOW + laterMs)
  expect(used(rule, afterTakingBack(charged, kept, NOW + laterMs), NOW + laterMs)).toBe(before)
})

test('of a bucket, only what has not drained meanwhile is given back', () => {
  const bucket = tokenBucket({ capacity: 10, refill: 10, every: 1000 })
  const charged = charge(bucket, undefined, 5, NOW)
  const kept = hit(bucket, charged.after, 4, NOW + 300)
  // Three of the five tokens have drained: at most two come back, and the four others stay.
  expect(used(bucket, kept, NOW + 300)).toBe(6)
  expect(used(bucket, afterTakingBack(charged, kept, NOW + 300), NOW + 300)).toBeGreaterThanOrEqual(4)
})

test('a state that was reset meanwhile stays as it is', () => {
  const charged = charge(fixedWindow({ limit: 5, window: 1000 }), undefined, 2, NOW)
  expect(takenBack(charged, () => undefined, NOW)).toEqual([])
})
