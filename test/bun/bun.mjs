// Tests under Bun: the suite for stores through Bun's own client and through its fetch, on real servers, and through bun:sqlite.
// `npm run test:bun` runs it.

import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { createLimiter, fixedWindow } from 'sluice'
import { redisStore } from 'sluice/redis'
import { storeSuite } from 'sluice/testing'
import { startRedis, until } from '../servers/redis-server.mjs'
import { startProxy } from '../servers/tcp-proxy.mjs'
import { startUpstashFront } from '../servers/upstash-front.mjs'
import { sqliteTests } from './bun-sqlite.mjs'

/** @import { BunRedisClient } from 'sluice/redis' */

/** @type {new (url: string, options?: object) => BunRedisClient & { close(): void }} */
const Client = Reflect.get(globalThis, 'Bun').RedisClient

/** @type {{ name: string, body: () => Promise<void> }[]} */
const tests = []
/** @type {string[]} */
const path = []

const runner = {
  /**
   * @param {string} name
   * @param {() => void} body
   */
  describe(name, body) {
    path.push(name)
    body()
    path.pop()
  },
  /**
   * @param {string} name
   * @param {() => Promise<void>} body
   */
  test(name, body) {
    tests.push({ name: [...path, name].join(' > '), body })
  },
}
const { describe, test } = runner

const server = await startRedis()
const proxy = await startProxy(server.port)
const front = await startUpstashFront(server.port)
const direct = `redis://127.0.0.1:${server.port}`
const url = `redis://127.0.0.1:${proxy.port}`
const hundred = fixedWindow({ limit: 100, window: '1h' })
const client = new Client(direct)
// The suite's clock stands still, so that calls that are refused would not be tried again.
await client.connect()

let prefixes = 0
const freshPrefix = () => `bun-${prefixes++}`

/** @param {Parameters<typeof redisStore>[0]} from */
function limiterOn(from, timeoutMs = 10_000) {
  const store = redisStore(from, { prefix: freshPrefix(), batch: 1 })
  return createLimiter({ rules: hundred, store, failure: { timeoutMs } })
}

storeSuite("Bun's client", (clock) => redisStore(client, { clock, prefix: freshPrefix() }), { runner, steps: 500 })

storeSuite(
  "Upstash's REST API",
  (clock) => redisStore({ url: front.url, token: front.token }, { clock, prefix: freshPrefix() }),
  { runner, steps: 50 },
)

describe("Bun's client", () => {
  test('the first hit needs no waiting for the connection', async () => {
    const own = new Client(url)
    assert.equal(own.connected, false)
    assert.equal((await limiterOn(own).hit('ada')).remaining, 99)
    own.close()
  })

  test('a command whose answer was lost is not sent again', async () => {
    const own = new Client(url)
    const limiter = limiterOn(own)
    await limiter.hit('warm-up')
    await server.cli('CONFIG', 'RESETSTAT')
    proxy.conditions = { loseDown: true }
    const hits = Promise.allSettled(Array.from({ length: 4 }, () => limiter.hit('ada')))
    await until('the hits to be executed', async () => (await runs()) === 4)
    proxy.conditions = {}
    proxy.reset()
    const codes = (await hits).map((hit) => (hit.status === 'rejected' ? hit.reason.code : hit.status))
    assert.deepEqual(codes, Array(4).fill('ERR_STORE_UNKNOWN'))
    assert.equal(await limiter.get('ada'), 4)
    assert.equal(await runs(), 5)
    own.close()
  })

  test('calls are refused while it is not connected, and none waits in its queue', async () => {
    const own = new Client(url)
    const limiter = limiterOn(own, 300)
    await limiter.hit('ada')
    await proxy.stop()
    await until('the client to notice', async () => !own.connected)
    await assert.rejects(limiter.hit('ada'), { code: 'ERR_STORE_REFUSED' })
    await proxy.start()
    await until('the client to connect', async () => own.connected)
    await pause(50)
    assert.equal(await limiter.get('ada'), 1)
    own.close()
  })

  for (const [name, options] of Object.entries({
    'that has given up': { maxRetries: 1 },
    'that does not reconnect by itself': { autoReconnect: false },
    'without a queue': { enableOfflineQueue: false },
  })) {
    test(`${name} is connected again by the next call`, async () => {
      const own = new Client(url, options)
      const limiter = limiterOn(own)
      await limiter.hit('ada')
      await proxy.stop()
      await until('the client to notice', async () => !own.connected)
      await pause(300)
      await proxy.start()
      assert.equal((await limiter.hit('ada')).remaining, 98)
      own.close()
    })
  }
})

test("Upstash's REST API: a lost answer counts once, on a connection that was used before too", async () => {
  const limiter = limiterOn({ url: front.url, token: front.token })
  for (let lost = 1; lost <= 3; lost++) {
    await limiter.hit('warm-up')
    front.fates = ['lost']
    await assert.rejects(limiter.hit('ada'), { code: 'ERR_STORE_UNKNOWN' })
    assert.equal(await limiter.get('ada'), lost)
  }
  await front.stop()
  await assert.rejects(limiterOn({ url: front.url, token: front.token }, 200).hit('ada'), { code: 'ERR_STORE_REFUSED' })
  await front.start()
})

const removeFiles = sqliteTests(runner)

/** Number of times that the server ran the program since the last reset of its statistics. */
async function runs() {
  const stats = await server.cli('INFO', 'commandstats')
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0)
}

let failed = 0
for (const { name, body } of tests) {
  try {
    await body()
  } catch (error) {
    failed += 1
    console.error(`failed: ${name}`, error)
  }
}
console.log(`${tests.length - failed} passed, ${failed} failed`)
removeFiles()
client.close()
await front.end()
await proxy.stop()
await server.stop()
process.exit(failed === 0 ? 0 : 1)
