import { expect, test } from 'vitest'
import { spokenDuration } from '../forms/duration-text.ts'
import { howMany, rateText, shareText, shortCount } from './count-text.ts'
import { agoText, waitText } from './time-text.ts'

test('counts are short where they are long', () => {
  expect([0, 9999, 12_345, 1_200_000].map(shortCount)).toEqual(['0', '9,999', '12.3K', '1.2M'])
  expect([howMany(1, 'check'), howMany(2000, 'check'), howMany(0, 'policy', 'policies')]).toEqual([
    '1 check',
    '2,000 checks',
    '0 policies',
  ])
})

test('a share or a rate is never shown as none when there is some', () => {
  expect([0, 0.01, 0.25, 12.34, 123.4, 45_678].map(rateText)).toEqual(['0', '< 0.1', '0.3', '12.3', '123', '45.7K'])
  expect([shareText(0, 10), shareText(1, 1000), shareText(1, 3), shareText(0, 0)]).toEqual(['0%', '< 1%', '33%', '0%'])
})

test('the text of a wait has at most two units', () => {
  expect([0.2, 59, 60, 125, 3600, 90_000, 200_000].map(waitText)).toEqual([
    '1 s',
    '59 s',
    '1 min',
    '2 min 5 s',
    '1 h',
    '1 d 1 h',
    '2 d 7 h',
  ])
  expect([250, 1500, 60_000, 5_400_000, 86_400_000].map(spokenDuration)).toEqual(['250 ms', '1.5 s', '1 min', '1.5 h', '1 d'])
  expect(agoText('2026-11-15T12:00:00Z', Date.parse('2026-11-15T15:30:00Z'))).toBe('3 h ago')
})
