// Expiries of items, as a real memcached reads them.

import { expect, test } from 'vitest'
import { createLimiter, fixedWindow, type Limiter } from '../../src/index.ts'
import { KEPT_LONGER_SECONDS } from '../../src/stores/memcached/item-expiry.ts'
import { freshPrefix } from '../redis/real-redis.ts'
import { realMemcached, storeOn } from './real-memcached.ts'

const server = realMemcached()

/** Hits once. Returns the seconds until the item expires, by the system's clock. */
async function secondsAfter(use: (limiter: Limiter<'async'>) => Promise<unknown>, windowMs: number): Promise<number> {
  const prefix = freshPrefix()
  const store = storeOn([server.it], { prefix })
  await use(createLimiter({ rules: fixedWindow({ limit: 5, window: windowMs }), store, failure: { timeoutMs: 10_000 } }))
  await store.close()
  const items = (await server.it.items()).filter(({ key }) => key.startsWith(`${prefix}|`))
  expect(items).toHaveLength(1)
  return items[0].expiresAt - Date.now() / 1000
}

const DAY_MS = 86_400_000

test.each([1, 1000, 60_000, 3_600_000, 29 * DAY_MS, 31 * DAY_MS, 365 * DAY_MS])('a window of %d ms', async (windowMs) => {
  const seconds = await secondsAfter((limiter) => limiter.hit('ada'), windowMs)
  // Memcached's own clock may be a second or two behind on a busy machine.
  expect(seconds).toBeGreaterThan(windowMs / 1000 + KEPT_LONGER_SECONDS - 5)
  expect(seconds).toBeLessThan(windowMs / 1000 + KEPT_LONGER_SECONDS + 5)
})

test('later hits keep the expiry, and a refund does not remove it', async () => {
  const seconds = await secondsAfter(async (limiter) => {
    for (let i = 0; i < 7; i++) await limiter.hit('ada')
    await limiter.refund('ada', 2)
  }, 3_600_000)
  expect(Math.abs(seconds - 3600 - KEPT_LONGER_SECONDS)).toBeLessThan(5)
})

test('a reset deletes the item', async () => {
  const prefix = freshPrefix()
  const store = storeOn([server.it], { prefix })
  const limiter = createLimiter({ rules: fixedWindow({ limit: 5, window: '1h' }), store, failure: { timeoutMs: 10_000 } })
  await limiter.hit('ada')
  await limiter.reset('ada')
  expect(await server.it.ask(`mg ${prefix}|ada`)).toBe('EN')
  await store.close()
})
