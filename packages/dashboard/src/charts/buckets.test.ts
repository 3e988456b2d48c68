import { expect, test } from 'vitest'
import type { Activity } from '../api/answers.ts'
import { bucketed, daily, grouped, hourly, minutely, type Seconds } from './buckets.ts'

function statsFrom(from: number, allowed: readonly number[]): Seconds {
  const nothing = allowed.map(() => 0)
  return { from, seconds: allowed.length, allowed, denied: nothing, shadow_denied: nothing, errors: nothing }
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

test('hours and minutes are steps as they are, also the one that is still running', () => {
  const { from, seconds, ...counts } = statsFrom(7200, [4, 0, 9])
  expect(hourly({ from, hours: seconds, ...counts })).toMatchObject({
    ...{ times: [7200, 10_800, 14_400], stepSeconds: 3600, unitSeconds: 3600 },
    allowed: [4, 0, 9],
  })
  const activity = { from: 120, minutes: 2, allowed: [1, 2], denied: [0, 3] } as unknown as Activity
  expect(minutely(activity)).toMatchObject({ times: [120, 180], unitSeconds: 60, denied: [0, 3], shadow_denied: [0, 0] })
})

test('groups end with the last count', () => {
  expect(grouped([1, 2, 3, 4, 5], 2)).toEqual([1, 5, 9])
  expect(grouped([1, 2, 3, 4], 2)).toEqual([3, 7])
  expect(grouped([], 3)).toEqual([])
})

test('days begin at midnight where the browser is, and a first one that is not whole is left out', () => {
  const midnight = new Date(2026, 10, 17).getTime() / 1000
  const { from, seconds, ...counts } = statsFrom(midnight - 5 * 3600, [...Array(5).fill(100), ...Array(24).fill(2), 3, 4])
  expect(daily({ from, hours: seconds, ...counts })).toMatchObject({
    times: [midnight, new Date(2026, 10, 18).getTime() / 1000],
    unitSeconds: 86_400,
    allowed: [48, 7],
  })
})
