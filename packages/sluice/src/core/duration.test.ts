import { expect, test } from 'vitest'
import { durationMs, formatDuration } from './duration.ts'

test('durations are whole milliseconds, or a number with its unit', () => {
  const read = (duration: string | number) => durationMs(duration as number)
  expect(['250ms', '10s', '1m', '2h', '7d', 1].map(read)).toEqual([250, 10_000, 60_000, 7_200_000, 604_800_000, 1])
})

test('anything else is refused, and the error shows the value', () => {
  for (const bad of [
    '',
    '10',
    's',
    '1.5s',
    '-1s',
    '1 s',
    '1S',
    '1w',
    ' 1s',
    '0s',
    `${'9'.repeat(16)}d`,
    0,
    -1,
    0.5,
    Number.NaN,
    2 ** 53,
    null,
    {},
  ]) {
    expect(() => durationMs(bad as number, 'window'), String(bad)).toThrow(expect.objectContaining({ code: 'ERR_DURATION' }))
  }
  expect(() => durationMs('1w' as '1d', 'every')).toThrow(
    `every must be such as '250ms', '10s', '1m', '2h' or '7d', or whole milliseconds from 1 to 140737488355328, got "1w"`,
  )
})

test('a formatted duration is read back as the same number', () => {
  for (const ms of [1, 999, 1000, 1500, 60_000, 90_000, 3_600_000, 86_400_000, 604_800_000]) {
    expect(durationMs(formatDuration(ms) as '1s')).toBe(ms)
  }
  expect([60_000, 90_000, 86_400_000].map(formatDuration)).toEqual(['1m', '90s', '1d'])
})
