// Processes that reserve and settle on one server, and are killed by SIGKILL while they hold places and tokens. There are never more
// holders than places, no token is lost or charged twice, and everything is usable once the holds of the dead have expired.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { concurrency, createLimiter, fixedWindow, holds, type Store } from '../../src/index.ts'
import { type PostgresMode, postgresStore } from '../../src/stores/postgres/postgres-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { freshTable, openPool, realPostgres } from '../postgres/real-postgres.ts'
import { freshPrefix, realRedis } from '../redis/real-redis.ts'

export interface HolderOptions {
  readonly server: { readonly kind: 'redis'; readonly port: number } | { readonly kind: 'postgres'; readonly url: string }
  /** Prefix or table. */
  readonly name: string
  readonly mode?: PostgresMode
  readonly limit: number
  readonly places: number
  readonly ttlMs: number
  /** Units that each reserve holds. */
  readonly units: number
  /** Number of reserves that a process has under way at once. */
  readonly loops: number
}

export type HolderReport =
  | { readonly event: 'held'; readonly id: number; readonly fromMs: number; readonly untilMs: number }
  | { readonly event: 'ending'; readonly id: number; readonly untilMs: number }
  | { readonly event: 'settled'; readonly used: number }

const SHAPE = { limit: 1_000_000, places: 5, ttlMs: 1500, units: 10, loops: 2 } as const
const PROCESSES = 4
const KILLS = 8
const program = fileURLToPath(new URL('./holder.mjs', import.meta.url))

class Holder {
  readonly reports: HolderReport[] = []
  readonly #child: ReturnType<typeof fork>

  constructor(options: HolderOptions) {
    this.#child = fork(program, [JSON.stringify(options)])
    this.#child.on('message', (report) => this.reports.push(report as HolderReport))
  }

  async kill(): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }
}

/** Runs processes and kills them one after the other. Returns all that they have reported. */
async function runAndKill(options: HolderOptions): Promise<readonly HolderReport[][]> {
  const holders = Array.from({ length: PROCESSES }, () => new Holder(options))
  const dead: Holder[] = []
  for (let kill = 0; kill < KILLS; kill++) {
    const [first] = holders
    while (first.reports.length < 30) await pause(20)
    await pause(Math.random() * 30)
    await first.kill()
    dead.push(first)
    holders.shift()
    if (kill < KILLS - PROCESSES) holders.push(new Holder(options))
  }
  return dead.map(({ reports }) => reports)
}

/** The largest number of holds that were open at the same time. A hold that was not settled lasts until its end. */
function mostAtOnce(all: readonly HolderReport[][]): number {
  const changes = all.flatMap((reports) => {
    const ends = new Map(reports.flatMap((each) => (each.event === 'ending' ? [[each.id, each.untilMs] as const] : [])))
    return reports.flatMap((each) => {
      if (each.event !== 'held') return []
      const untilMs = Math.min(each.untilMs, ends.get(each.id) ?? each.untilMs)
      return untilMs <= each.fromMs ? [] : [[each.fromMs, 1] as const, [untilMs, -1] as const]
    })
  })
  let open = 0
  let most = 0
  for (const [, change] of changes.sort(([a, b], [c, d]) => a - c || b - d)) {
    open += change
    most = Math.max(most, open)
  }
  return most
}

async function check(options: HolderOptions, store: Store): Promise<void> {
  const all = await runAndKill(options)
  const settled = all.flat().reduce((sum, each) => sum + (each.event === 'settled' ? each.used : 0), 0)
  expect(all.flat().length).toBeGreaterThan(100)
  expect(mostAtOnce(all)).toBeGreaterThan(1)
  expect(mostAtOnce(all)).toBeLessThanOrEqual(SHAPE.places)
  await pause(SHAPE.ttlMs)
  const limiter = createLimiter({
    rules: [
      concurrency({ limit: SHAPE.places, ttl: SHAPE.ttlMs, name: 'places' }),
      fixedWindow({ limit: SHAPE.limit, window: '1h', name: 'tokens' }),
    ],
    store,
    holds: holds(),
    failure: { timeoutMs: 20_000 },
  })
  const used = await limiter.get('k', { rule: 'tokens' })
  // A process may have been killed before it could report its last calls. What they held is charged in full, or what they settled.
  expect(used).toBeGreaterThanOrEqual(settled)
  expect(used).toBeLessThanOrEqual(settled + KILLS * SHAPE.loops * SHAPE.units)
  const rest = await limiter.reserve('k', { hold: { places: SHAPE.places, tokens: SHAPE.limit - used } })
  expect(rest.allowed).toBe(true)
  await rest.cancel()
}

describe('kill -9 of holders', () => {
  const redis = realRedis()
  const postgres = realPostgres()

  test('on Redis', async () => {
    const client = new Redis(redis.it.port, '127.0.0.1')
    await client.ping()
    const name = freshPrefix()
    await check({ ...SHAPE, server: { kind: 'redis', port: redis.it.port }, name }, redisStore(client, { prefix: name }))
    client.disconnect()
  })

  test.each(['function', 'transaction'] as const)(
    'on Postgres, mode %s',
    async (mode) => {
      const pool = await openPool(postgres.it.url)
      const name = freshTable()
      const store = postgresStore(pool.client, { table: name, mode })
      await store.size
      await check({ ...SHAPE, server: { kind: 'postgres', url: postgres.it.url }, name, mode }, store)
      await pool.close()
    },
    60_000,
  )
})
