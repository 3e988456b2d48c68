import { expect, test } from 'vitest'
import type { Stats } from '../api/answers.ts'
import { bucketed } from './buckets.ts'

function statsFrom(from: number, allowed: readonly number[]): Stats {
  const nothing = allowed.map(() => 0)
  const since_start = { started_at: '', allowed: 0, denied: 0, shadow_denied: 0, errors: 0 }
  return {
    from,
    seconds: allowed.length,
    allowed,
    denied: nothing,
    shadow_denied: nothing,
    errors: nothing,
    policies: [],
    since_start,
  }
}

test('steps begin at multiples of their length, and those that are not whole are left out', () => {
  const { times, allowed } = bucketed(statsFrom(1003, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]), 5)
  expect(times).toEqual([1005, 1010])
  expect(allowed).toEqual([3 + 4 + 5 + 6 + 7, 8 + 9 + 10 + 11 + 12])
})

test('the second that is still running is not shown', () => {
  expect(bucketed(statsFrom(1000, [1, 2, 3]), 1).allowed).toEqual([1, 2])
  expect(bucketed(statsFrom(1000, [1]), 1).allowed).toEqual([])
})
