// Faults of real servers: killed, frozen, emptied, full, cut off. Longer rounds are in test/faults.

import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type MemcachedServer, startMemcached } from '../../../../test/servers/memcached-server.mjs'
import { until } from '../../../../test/servers/redis-server.mjs'
import { startProxy } from '../../../../test/servers/tcp-proxy.mjs'
import { ServerChoice } from '../../src/engines/server-choice.ts'
import { createLimiter, fixedWindow, type Limiter, type Rule, type SluiceError, slidingLog } from '../../src/index.ts'
import type { MemcachedStoreOptions } from '../../src/stores/memcached/memcached-options.ts'
import type { MemcachedStore } from '../../src/stores/memcached/memcached-store.ts'
import { storeOn } from './real-memcached.ts'

const RULE = fixedWindow({ limit: 5, window: '1h' })

async function start(...args: string[]): Promise<MemcachedServer> {
  const server = await startMemcached(...args)
  onTestFinished(() => server.stop())
  return server
}

function open(servers: readonly { readonly address: string }[], options?: Partial<MemcachedStoreOptions>): MemcachedStore {
  const store = storeOn(servers, { timeoutMs: 200, connectTimeoutMs: 200, ...options })
  onTestFinished(() => store.close())
  return store
}

function limiterOn(store: MemcachedStore, rules: Rule<undefined>[] = [RULE], timeoutMs = 500): Limiter<'async'> {
  return createLimiter({ rules, store, failure: { timeoutMs, failures: 1_000_000 } })
}

async function outcomeOf(call: Promise<{ readonly allowed: boolean }>): Promise<string> {
  return call.then(
    ({ allowed }) => (allowed ? 'allowed' : 'denied'),
    ({ code }: SluiceError) => code,
  )
}

/** Hits once, without the guard of a limiter: no deadline, and a refused hit is not tried again. */
function hitOnce(store: MemcachedStore, rules: readonly Rule[], key: string): Promise<string> {
  const asked = store.tally(rules).ask({ operation: 'hit', charges: [{ rule: 0, key, amount: 1 }] })
  return outcomeOf(asked.then(([, waitMs]) => ({ allowed: waitMs === 0 })))
}

describe('counts that vanish: the key begins anew', () => {
  test('flush_all in the middle', async () => {
    const server = await start()
    const limiter = limiterOn(open([server]))
    await limiter.hit('ada', { cost: 5 })
    expect((await limiter.hit('ada')).allowed).toBe(false)
    expect(await server.ask('flush_all')).toBe('OK')
    expect(await limiter.hit('ada')).toMatchObject({ allowed: true, remaining: 4 })
  })

  test('flush_all between a read and its write: the write is decided again', async () => {
    const server = await start()
    const proxy = await startProxy(server.port)
    onTestFinished(() => proxy.stop())
    const limiter = limiterOn(open([{ address: `127.0.0.1:${proxy.port}` }], { timeoutMs: 5000 }), [RULE], 10_000)
    await limiter.hit('ada', { cost: 3 })
    proxy.conditions = { downDelayMs: 150 }
    const hit = limiter.hit('ada')
    await pause(50)
    await server.ask('flush_all')
    expect(await hit).toMatchObject({ allowed: true, remaining: 4 })
  })

  test('SIGKILL and a restart with empty memory: no version of the old memory is taken for one of the new', async () => {
    const server = await start()
    const limiter = limiterOn(open([server]), [RULE], 3000)
    await limiter.hit('ada', { cost: 5 })
    await server.kill()
    expect(await outcomeOf(limiterOn(open([server])).hit('ada'))).toBe('ERR_STORE_REFUSED')
    await server.start()
    expect(await limiter.hit('ada')).toMatchObject({ allowed: true, remaining: 4 })
  })

  test('evictions: a flood of other keys drops counts, and calls go on', async () => {
    // The least memory that memcached takes with its usual item size.
    const server = await start('-m', '2')
    const store = open([server], { timeoutMs: 5000, prefix: 'flooded' })
    const limiter = limiterOn(store, [RULE], 20_000)
    // Items of one size compete for memory.
    const long = 'x'.repeat(200)
    await limiter.hit(`ada:${long}`, { cost: 5 })
    // The flag `u` does not count as a use of the item.
    const isThere = async () => (await server.ask(`mg flooded|ada:${long} u`)).startsWith('HD')
    for (let i = 0; (await isThere()) && i < 100; i++) {
      await Promise.all(Array.from({ length: 500 }, (_, j) => limiter.hit(`${i}:${j}:${long}`)))
    }
    expect(Number((await server.stats()).evictions)).toBeGreaterThan(0)
    expect(await limiter.hit(`ada:${long}`)).toMatchObject({ allowed: true, remaining: 4 })
  })
})

describe('a server that is full', () => {
  /** Fills a server with items until it refuses one. Returns the outcomes other than `allowed`. */
  async function fill(store: MemcachedStore): Promise<readonly string[]> {
    for (let i = 0; i < 200; i++) {
      const keys = Array.from({ length: 500 }, (_, j) => `flood:${i}:${j}`)
      const outcomes = await Promise.all(keys.map((key) => hitOnce(store, [RULE], key)))
      const others = outcomes.filter((each) => each !== 'allowed')
      if (others.length > 0) return others
    }
    return []
  }

  test('with -M a write is refused, and counts nothing', async () => {
    const server = await start('-M', '-m', '2')
    const store = open([server], { timeoutMs: 5000 })
    expect(new Set(await fill(store))).toEqual(new Set(['ERR_STORE_REFUSED']))
    expect(await hitOnce(store, [RULE], 'ada')).toBe('ERR_STORE_REFUSED')
    expect(await limiterOn(store, [RULE], 5000).get('ada')).toBe(0)
  })

  test('with -M a key that is hit again begins anew: memcached drops the item of a write that it refuses', async () => {
    const server = await start('-M', '-m', '2')
    const store = open([server], { timeoutMs: 5000 })
    expect(await hitOnce(store, [RULE], 'ada')).toBe('allowed')
    await fill(store)
    expect(await limiterOn(store, [RULE], 5000).get('ada')).toBe(1)
    expect(await hitOnce(store, [RULE], 'ada')).toBe('ERR_STORE_REFUSED')
    expect(await limiterOn(store, [RULE], 5000).get('ada')).toBe(0)
  })

  test('states of more bytes than the bound fail, and the item stays', async () => {
    const server = await start()
    const limiter = limiterOn(open([server], { maxValueBytes: 400 }), [slidingLog({ limit: 1000, window: '1h' })])
    const outcomes = []
    for (let i = 0; i < 40; i++) {
      outcomes.push(await outcomeOf(limiter.hit('ada')))
      await pause(2)
    }
    const allowed = outcomes.indexOf('ERR_STORE_FATAL')
    expect(allowed).toBeGreaterThan(5)
    expect(outcomes.slice(allowed)).toEqual(Array(40 - allowed).fill('ERR_STORE_FATAL'))
    expect(await limiter.get('ada')).toBe(allowed)
  })
})

describe('a frozen server', () => {
  test('calls settle by their deadline, and late answers are given to nobody', async () => {
    const server = await start()
    const limiter = limiterOn(open([server]), [RULE], 300)
    await limiter.hit('ada')
    server.signal('SIGSTOP')
    const startMs = performance.now()
    const outcomes = await Promise.all(['ada', 'bob', 'ada'].map((key) => outcomeOf(limiter.hit(key))))
    expect(performance.now() - startMs).toBeLessThan(1500)
    for (const outcome of outcomes) expect(outcome).toMatch(/^ERR_STORE_(?:REFUSED|UNKNOWN)$/)
    server.signal('SIGCONT')
    await until('the store to answer', async () => (await outcomeOf(limiter.hit('eve'))) === 'allowed', 2000)
    expect(await limiter.get('eve')).toBe(1)
    expect(await limiter.get('ada')).toBeLessThanOrEqual(3)
  })

  test('the keys of other servers go on, also in calls that were gathered with its own', async () => {
    const servers = [await start(), await start()]
    const store = open(servers)
    const choice = new ServerChoice(servers.map(({ address }) => address))
    const on = (index: number, kind: string) =>
      Array.from({ length: 200 }, (_, i) => `${kind}${i}`).filter((name) => choice.indexOf(name) === index)
    const rules = [
      fixedWindow({ limit: 100, window: '1h', name: 'user', per: 'user' }),
      fixedWindow({ limit: 1000, window: '1h', name: 'org', per: 'org' }),
    ]
    const limiter = createLimiter({ rules, store, failure: { timeoutMs: 800, failures: 3, probeEveryMs: 100 } })
    // Names of records are the values in their order, so these choose the same servers as the keys of the subject.
    const [org] = on(1, 'org')
    const [away] = on(0, 'user')
    const [near] = on(1, 'user')
    await limiter.hit({ user: near, org })
    await limiter.hit({ user: away, org })
    servers[0].signal('SIGSTOP')
    for (let i = 0; i < 5; i++) expect(await outcomeOf(limiter.hit({ user: away, org }))).not.toBe('allowed')
    let allowed = 0
    for (let i = 0; i < 30; i++) {
      const [, outcome] = await Promise.all([
        outcomeOf(limiter.hit({ user: away, org })),
        outcomeOf(limiter.hit({ user: near, org })),
      ])
      if (outcome === 'allowed') allowed += 1
    }
    expect(allowed).toBe(30)
    servers[0].signal('SIGCONT')
    await until('both servers to answer', async () => (await outcomeOf(limiter.hit({ user: away, org }))) === 'allowed', 3000)
  })
})

test('a server that is killed fails its own keys, and no others', async () => {
  const servers = [await start(), await start(), await start()]
  const store = open(servers)
  const limiter = createLimiter({ rules: RULE, store, failure: { timeoutMs: 1500, failures: 3 } })
  const keys = Array.from({ length: 60 }, (_, i) => `user:${i}`)
  const choice = new ServerChoice(servers.map(({ address }) => address))
  await servers[1].kill()
  for (let round = 0; round < 3; round++) {
    const outcomes = await Promise.all(keys.map((key) => outcomeOf(limiter.hit(key))))
    expect(outcomes).toEqual(keys.map((key) => (choice.indexOf(key) === 1 ? 'ERR_STORE_REFUSED' : 'allowed')))
  }
})

test('an answer that is cut after each of its bytes: no hit is counted twice, and refused ones are not counted', async () => {
  const server = await start()
  const proxy = await startProxy(server.port)
  onTestFinished(() => proxy.stop())
  const plain = limiterOn(open([server], { prefix: 'cut' }), [fixedWindow({ limit: 1e6, window: '1h' })], 5000)
  const rules = [fixedWindow({ limit: 1e6, window: '1h' })]
  const keys = ['a', 'b', 'c']
  for (const [i, key] of keys.entries()) await plain.set(key, 100 * (i + 1))
  const counted = await Promise.all(keys.map((key) => plain.get(key)))
  const seen = new Set<string>()
  // Greeting, three reads and three writes take less than 400 bytes.
  for (let bytes = 0; bytes < 400; bytes += 3) {
    // A store of its own: a connection that is open before has no greeting, so its answers are cut elsewhere.
    const store = open([{ address: `127.0.0.1:${proxy.port}` }], { prefix: 'cut', timeoutMs: 1000, connectTimeoutMs: 1000 })
    proxy.conditions = { cutDownAfter: bytes, cutOnce: true }
    const outcomes = await Promise.all(keys.map((key) => hitOnce(store, rules, key)))
    await store.close()
    for (const [i, key] of keys.entries()) {
      const now = await plain.get(key)
      const added = now - counted[i]
      counted[i] = now
      seen.add(`${outcomes[i]} ${added}`)
    }
  }
  // A write that was sent may have been lost on its way, so an unknown one may count nothing.
  seen.delete('ERR_STORE_UNKNOWN 0')
  expect([...seen].sort()).toEqual(['ERR_STORE_REFUSED 0', 'ERR_STORE_UNKNOWN 1', 'allowed 1'])
})
