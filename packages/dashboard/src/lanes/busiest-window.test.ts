import fc from 'fast-check'
import { expect, test } from 'vitest'
import { busiestWindow } from './busiest-window.ts'

test('the end of a window is not part of it', () => {
  expect(busiestWindow([0, 999, 1000], 1000)).toEqual({ count: 2, fromMs: 0 })
  expect(busiestWindow([0, 1, 1000], 1000)).toEqual({ count: 2, fromMs: 0 })
  expect(busiestWindow([], 1000)).toEqual({ count: 0, fromMs: 0 })
})

test('no window at any millisecond holds more', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(300), { maxLength: 40 }), fc.integer({ min: 1, max: 120 }), (times, spanMs) => {
      times.sort((a, b) => a - b)
      let most = 0
      for (let fromMs = -spanMs; fromMs <= 300; fromMs++) {
        most = Math.max(most, times.filter((atMs) => atMs >= fromMs && atMs < fromMs + spanMs).length)
      }
      const { count, fromMs } = busiestWindow(times, spanMs)
      expect(count).toBe(most)
      expect(times.filter((atMs) => atMs >= fromMs && atMs < fromMs + spanMs).length).toBe(most)
    }),
  )
})
