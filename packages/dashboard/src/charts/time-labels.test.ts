import { expect, test } from 'vitest'
import { labelSpace, labelWidths, timeLabel } from './time-labels.ts'

const at = (...parts: [number, number, number, number, number?]) => new Date(2026, ...parts).getTime() / 1000

test('labels are times of the day; where days are shown, midnight is its date', () => {
  const midnight = at(10, 17, 0, 0)
  expect([300, 3600, 86_400, 2_678_400].map((length) => timeLabel(midnight, length))).toEqual([
    '00:00',
    '00:00',
    '17 Nov',
    '17 Nov',
  ])
  expect([timeLabel(at(10, 17, 6, 0), 86_400), timeLabel(at(10, 17, 6, 30, 15), 300)]).toEqual(['06:00', '06:30:15'])
})

test('labels have the space of the longest that may stand there', () => {
  const widths = labelWidths((text) => text.length * 10)
  // Short names of months have up to four letters in some versions of Unicode's data.
  expect(widths).toMatchObject({ seconds: 80, minutes: 50 })
  expect(widths.day).toBeGreaterThanOrEqual(60)
  expect(labelSpace(widths, 300, 1000)).toBe(92)
  expect(labelSpace(widths, 3600, 1000)).toBe(62)
  expect(labelSpace(widths, 86_400, 1000)).toBe(widths.day + 12)
})
