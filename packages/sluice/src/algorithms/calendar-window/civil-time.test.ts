import { expect, test } from 'vitest'
import { dayMs, monthAt } from './civil-time.ts'

test('days and months are those of Date, from 1800 to 2500', () => {
  for (let month = -170 * 12; month < 530 * 12; month++) {
    const startMs = Date.UTC(1970, month)
    const endMs = Date.UTC(1970, month + 1)
    expect(dayMs(month, 0)).toBe(startMs)
    for (const day of [13, 27, 30]) expect(dayMs(month, day)).toBe(Date.UTC(1970, month, day + 1))
    for (const timeMs of [startMs, startMs + 1_234_567_890, endMs - 1]) expect(monthAt(timeMs)).toBe(month)
  }
})

test('the first and the last month of Date', () => {
  for (const timeMs of [-8.64e15, 8.64e15]) {
    const date = new Date(timeMs)
    const month = (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth()
    expect(monthAt(timeMs)).toBe(month)
    expect(dayMs(month, date.getUTCDate() - 1)).toBe(timeMs)
  }
})
