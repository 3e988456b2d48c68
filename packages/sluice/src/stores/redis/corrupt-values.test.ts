// Values under the store's names that no rule has written. Each affects only its own key.

import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { BAD_NUMBERS, ODD_CELLS, RULES_OF_CELLS } from '../../../test/damaged-cells.ts'
import { beforeTests, freshPrefix, realRedis } from '../../../test/redis/real-redis.ts'
import { parseRule } from '../../algorithms/parse-rule.ts'
import { createLimiter, fixedWindow, gcra, type Rule, slidingLog } from '../../index.ts'
import { redisStore } from './redis-store.ts'

const server = realRedis()
const client = beforeTests(
  // With pipelines of its own the client resends commands, so that there is a note.
  async () => new Redis(server.it.port, '127.0.0.1', { enableAutoPipelining: true }),
  (client) => client.disconnect(),
)

/** A limiter whose breaker opens after one failure, and the name of ada's state. */
async function limiterWith(...rules: Rule[]) {
  const prefix = freshPrefix()
  const store = redisStore(client.it, { prefix })
  const limiter = createLimiter({ rules, store, failure: { timeoutMs: 20_000, failures: 1, probeEveryMs: 60_000 } })
  await limiter.hit('ada')
  const names = (await client.it.keys(`${prefix}:1:*`)).sort()
  /** Hits the bad key between two others, in one command. */
  const hitBetween = () => Promise.allSettled(['bob', 'ada', 'eve'].map((key) => limiter.hit(key)))
  return { limiter, names, hitBetween }
}

function bytesOf(...numbers: readonly number[]): Buffer {
  return Buffer.from(Float64Array.from(numbers).buffer)
}

function cellsOf(value: Buffer | null): number[] {
  return Array.from({ length: (value?.length ?? 0) / 8 }, (_, i) => value?.readDoubleLE(i * 8) ?? 0)
}

function expectOneRefused(settled: PromiseSettledResult<unknown>[], name: string, what: string): void {
  const [bob, ada, eve] = settled
  expect(ada, what).toMatchObject({ status: 'rejected', reason: { code: 'ERR_STORE_FATAL' } })
  const { message } = (ada as PromiseRejectedResult).reason as Error
  expect(message, what).toContain(name)
  expect(message, what).toMatch(/is not a state of its rule: reset\(\) removes it|WRONGTYPE/)
  for (const other of [bob, eve]) expect(other, what).toMatchObject({ status: 'fulfilled', value: { source: 'store' } })
}

describe('a number that no rule writes fails its own call, and no other', () => {
  test.each(Object.entries(RULES_OF_CELLS))('in %s', async (_, rule) => {
    const { limiter, names, hitBetween } = await limiterWith(rule)
    const [name] = names
    const good = cellsOf(await client.it.getBuffer(name))
    let bad = 0
    for (const at of good.keys()) {
      for (const number of BAD_NUMBERS) {
        const value = bytesOf(...good.with(at, number))
        await client.it.set(name, value, 'PX', 3_600_000)
        const what = `cell ${at} is ${number}`
        const settled = await hitBetween()
        await limiter.reset('bob')
        await limiter.reset('eve')
        bad += 1
        expectOneRefused(settled, name, what)
        expect(await client.it.getBuffer(name), what).toEqual(value)
      }
    }
    expect(limiter.failures).toMatchObject({ fatal: bad, timeout: 0, refused: 0, unknown: 0, 'not-asked': 0 })
    await limiter.reset('ada')
    expect(await limiter.hit('ada')).toMatchObject({ allowed: true, remaining: 4 })
  })
})

test.each([
  ...ODD_CELLS,
  ['four cells of a meter, without pace', gcra({ limit: 5, period: '1h' }), [2e12, 720_000, 0, 1]],
] as const)('cells that do not go together are refused: %s', async (what, rule, cells) => {
  const { names, hitBetween } = await limiterWith(rule)
  await client.it.set(names[0], bytesOf(...cells), 'PX', 3_600_000)
  expectOneRefused(await hitBetween(), names[0], what)
})

test.each(['', 'x', 'a text of some length', '\0'.repeat(15), '\0'.repeat(24)])('another text is refused: %j', async (text) => {
  for (const rule of Object.values(RULES_OF_CELLS)) {
    const { names, hitBetween } = await limiterWith(rule)
    await client.it.set(names[0], text, 'PX', 3_600_000)
    expectOneRefused(await hitBetween(), names[0], rule.algorithm)
  }
})

test('another type is refused', async () => {
  for (const rule of [...Object.values(RULES_OF_CELLS), slidingLog({ limit: 5, window: '1h' })]) {
    const { names, hitBetween } = await limiterWith(rule)
    await client.it.del(names[0])
    await client.it.hset(names[0], 'field', 'value')
    expectOneRefused(await hitBetween(), names[0], rule.algorithm)
  }
})

describe('a sliding log', () => {
  const now = Date.now()
  const ENTRIES: Readonly<Record<string, readonly Buffer[]>> = {
    'a short entry': [Buffer.from('short')],
    'an entry that is too long': [bytesOf(now, 1, 1, 1)],
    'a short entry behind a good one': [bytesOf(now, 1, 1), Buffer.from('short')],
    ...Object.fromEntries(
      BAD_NUMBERS.flatMap((number) =>
        [0, 1, 2].map((at) => [`${number} at ${at}`, [bytesOf(...[now, 1, 1].with(at, number))]] as const),
      ),
    ),
    'an entry that cost nothing': [bytesOf(now, 0, 0)],
    'sums that fall': [bytesOf(now, 3, 9), bytesOf(now + 1, 1, 8)],
    'sums that grow by less than the cost': [bytesOf(now, 3, 3), bytesOf(now + 1, 7, 4)],
  }

  test.each(Object.entries(ENTRIES))('with %s is refused', async (what, entries) => {
    const { names, hitBetween } = await limiterWith(slidingLog({ limit: 5, window: '1d' }))
    await client.it.del(names[0])
    await client.it.rpush(names[0], ...entries)
    expectOneRefused(await hitBetween(), names[0], what)
    expect(await client.it.lrangeBuffer(names[0], 0, -1)).toEqual(entries)
  })
})

test('of several rules, the one with the bad value is named, and none is charged', async () => {
  const first = fixedWindow({ limit: 5, window: '1h', name: 'a-first' })
  const log = slidingLog({ limit: 5, window: '1h', name: 'b-log' })
  const { limiter, names, hitBetween } = await limiterWith(first, log)
  await client.it.lset(names[1], 0, 'bad')
  expectOneRefused(await hitBetween(), names[1], 'a hit')
  await expect(limiter.refund('ada')).rejects.toMatchObject({ code: 'ERR_STORE_FATAL' })
  await expect(limiter.peek('ada')).rejects.toMatchObject({ code: 'ERR_STORE_FATAL' })
  expect(await limiter.get('ada', { rule: 'a-first' })).toBe(1)
})

test('a bad value that is found late leaves no rule half changed', async () => {
  const first = fixedWindow({ limit: 5, window: '1h', name: 'a-first' })
  const log = slidingLog({ limit: 5, window: '1h', name: 'b-log' })
  const { limiter, names } = await limiterWith(first, log)
  await limiter.inc('ada', 2)
  const [time] = cellsOf(await client.it.lindexBuffer(names[1], 0))
  await client.it.del(names[1])
  await client.it.rpush(names[1], bytesOf(time - 2, 1, 1), 'bad', bytesOf(time, 1, 3))
  // Only a refund that ends in the middle of the log reads the entry there.
  await expect(limiter.refund('ada', 1)).rejects.toMatchObject({ code: 'ERR_STORE_FATAL' })
  expect(await limiter.get('ada', { rule: 'a-first' })).toBe(3)
})

test('the fallback decides for the bad key alone', async () => {
  const prefix = freshPrefix()
  const store = redisStore(client.it, { prefix })
  const limiter = createLimiter({ rules: parseRule('5/hour'), store, failure: { timeoutMs: 20_000, then: 'local', failures: 1 } })
  await limiter.hit('ada')
  const [name] = await client.it.keys(`${prefix}:1:*`)
  await client.it.set(name, bytesOf(Number.NaN, Number.NaN), 'PX', 60_000)
  const decisions = await Promise.all(['ada', 'bob', 'ada', 'eve'].map((key) => limiter.hit(key)))
  expect(decisions.map(({ source }) => source)).toEqual(['fallback', 'store', 'fallback', 'store'])
  expect(limiter.failures).toMatchObject({ fatal: 2, 'not-asked': 0 })
})

test('a value of another type in place of the note of executed commands is replaced', async () => {
  const prefix = freshPrefix()
  const limiter = createLimiter({
    rules: parseRule('5/hour'),
    store: redisStore(client.it, { prefix }),
    failure: { timeoutMs: 20_000 },
  })
  await limiter.hit('ada')
  const [note] = await client.it.keys(`${prefix}:once:*`)
  await client.it.del(note)
  await client.it.rpush(note, 'x')
  expect(await limiter.hit('ada')).toMatchObject({ allowed: true, remaining: 3 })
  expect(await client.it.type(note)).toBe('string')
  expect(await client.it.pttl(note)).toBeGreaterThan(0)
})
