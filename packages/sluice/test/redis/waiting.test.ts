// Waiting on a real Redis with latency: a caller that is rejected was not charged.

import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { startProxy } from '../../../../test/servers/tcp-proxy.mjs'
import { parseRule } from '../../src/algorithms/parse-rule.ts'
import { createLimiter, waitingLine } from '../../src/index.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { freshPrefix, realRedis } from './real-redis.ts'

const server = realRedis()

test('callers that give up, abort and are sent away have not paid, at any latency', async () => {
  const random = seededRandom()
  const proxy = await startProxy(server.it.port)
  proxy.conditions = { upDelayMs: 10, downDelayMs: 30, jitterMs: 30 }
  const client = new Redis(proxy.port, '127.0.0.1')
  const limiter = createLimiter({
    rules: parseRule('12/hour'),
    store: redisStore(client, { prefix: freshPrefix() }),
    failure: { timeoutMs: 20_000 },
    waiting: waitingLine(),
  })
  try {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 40 }, (_, i) => {
        const signal = i % 3 === 0 ? AbortSignal.timeout(random.whole(1, 1500)) : undefined
        return limiter.wait('ada', { maxWaitMs: random.whole(0, 60), ...(signal && { signal }) })
      }),
    )
    const granted = outcomes.filter(({ status }) => status === 'fulfilled').length
    expect(granted, `SEED=${random.seed}`).toBe(await limiter.get('ada'))
    expect(granted, `SEED=${random.seed}`).toBe(12)
  } finally {
    await limiter.close()
    client.disconnect()
    await proxy.stop()
  }
})
