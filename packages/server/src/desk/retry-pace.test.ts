import { expect, test, vi } from 'vitest'
import { RetryPace } from './retry-pace.ts'

test('retries follow at once, except after each fourth, and end after eight seconds', async () => {
  let nowMs = 1000
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  const pace = new RetryPace()
  for (let i = 0; i < 20; i++) expect(await pace.mayRetry()).toBe(true)
  nowMs = 9000
  expect(await pace.mayRetry()).toBe(true)
  nowMs = 9001
  expect(await pace.mayRetry()).toBe(false)
})
