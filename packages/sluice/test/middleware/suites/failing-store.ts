// A store that stops answering while a request waits.

import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type RedisServer, startRedis } from '../../../../../test/servers/redis-server.mjs'
import { startProxy, type TcpProxy } from '../../../../../test/servers/tcp-proxy.mjs'
import { parseRule } from '../../../src/algorithms/parse-rule.ts'
import type { Store } from '../../../src/core/store.ts'
import { inPlaceStore } from '../../../src/engines/in-place.ts'
import { chargeByResponse } from '../../../src/middleware/requests.ts'
import { redisStore } from '../../../src/stores/redis/redis-store.ts'
import type { Framework, Options } from '../frameworks/framework.ts'
import { serving, statuses } from '../serving.ts'

export function failingStoreSuite(framework: Framework): void {
  const serve = serving(framework)

  let redis: RedisServer
  let proxy: TcpProxy
  let client: Redis
  beforeAll(async () => {
    redis = await startRedis()
  })
  beforeEach(async () => {
    proxy = await startProxy(redis.port)
    client = new Redis({ port: proxy.port, host: '127.0.0.1' })
    client.on('error', () => {})
    await client.flushall()
  })
  afterEach(async () => {
    client.disconnect()
    await proxy.stop()
  })
  afterAll(() => redis.stop())

  /** One answer while the store is there, and three after it has stopped. */
  async function outage(options: Options) {
    const { ask, errors } = await serve({ store: redisStore(client), rules: parseRule('2/minute'), ...options })
    const before = await ask()
    expect(before).toMatchObject({ status: 200, headers: { ratelimit: '"fixed-window:2/1m";r=1;t=60' } })
    proxy.conditions = { loseDown: true }
    return { after: [await ask(), await ask(), await ask()], errors }
  }

  const failure = { timeoutMs: 100, failures: 1, probeEveryMs: 5000 } as const

  test("then 'throw': the error goes to the framework", async () => {
    const { after, errors } = await outage({ failure: { ...failure, then: 'throw' } })
    expect(statuses(after)).toEqual([500, 500, 500])
    expect(errors).toMatchObject([{ code: 'ERR_STORE_UNKNOWN' }, { code: 'ERR_STORE_REFUSED' }, { code: 'ERR_STORE_REFUSED' }])
  })

  test("then 'allow': requests pass, without fields about units that nobody knows", async () => {
    const { after } = await outage({ failure: { ...failure, then: 'allow' } })
    expect(statuses(after)).toEqual([200, 200, 200])
    for (const { headers } of after) expect(Object.keys(headers).filter((name) => name.includes('ratelimit'))).toEqual([])
  })

  test("then 'deny': the response is a 503", async () => {
    const { after } = await outage({ failure: { ...failure, then: 'deny' } })
    expect(statuses(after)).toEqual([503, 503, 503])
    expect(JSON.parse(after[0].body).type).toBe('https://iana.org/assignments/http-problem-types#temporary-reduced-capacity')
    expect(after[0].headers).toMatchObject({ 'retry-after': '5' })
    expect(after[0].headers).not.toHaveProperty('ratelimit')
  })

  test("then 'local': this process counts", async () => {
    const { after } = await outage({ failure: { ...failure, then: 'local' } })
    expect(statuses(after)).toEqual([200, 200, 429])
  })

  test("then 'local': requests that are not charged stay free", async () => {
    const { after } = await outage({ failure: { ...failure, then: 'local' }, charge: chargeByResponse('failed-response') })
    expect(statuses(after)).toEqual([200, 200, 200])
    expect(after[2].headers.ratelimit).toMatch(/^"fixed-window:2\/1m";r=1;/)
  })

  test('in shadow mode requests pass', async () => {
    const { ask } = await serve({
      store: redisStore(client),
      rules: parseRule('2/minute'),
      failure: { ...failure, then: 'throw' },
      mode: 'shadow',
      onShadowDenied: () => {},
    })
    proxy.conditions = { loseDown: true }
    expect((await ask()).status).toBe(200)
  })

  test.each([
    ['throw', [500, 500]],
    ['allow', [200, 200]],
    ['deny', [503, 503]],
  ] as const)("a synchronous store that fails, then '%s'", async (then, expected) => {
    const { ask, errors } = await serve({ store: failingAtOnce(), rules: parseRule('2/minute'), failure: { ...failure, then } })
    expect(statuses([await ask(), await ask()])).toEqual(expected)
    if (then === 'throw') expect(errors).toMatchObject([{ code: 'ERR_STORE_REFUSED' }, { code: 'ERR_STORE_REFUSED' }])
  })
}

/** A store such as a locked file of SQLite. */
function failingAtOnce(): Store<'sync'> {
  const fail = () => {
    throw new Error('database is locked')
  }
  return inPlaceStore({ read: fail, write: fail, clean: fail, size: fail, sortError: () => 'refused' })
}
