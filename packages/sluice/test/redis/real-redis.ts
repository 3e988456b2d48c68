// Real servers for a test file: started before its tests, stopped after them. Tests keep apart by prefixes of their own.

import { afterAll, beforeAll } from 'vitest'
import { type RedisServer, startCluster, startRedis, startSentinel } from '../../../../test/servers/redis-server.mjs'
import { createLimiter, type Limiter, type LimiterOptions } from '../../src/index.ts'
import type { RedisStore } from '../../src/stores/redis/redis-store.ts'

/** A resource that exists while the tests run. */
export interface Later<T> {
  readonly it: T
}

/** Makes something before the tests that follow, and ends it after them. */
export function beforeTests<T>(make: () => Promise<T>, end: (made: T) => unknown): Later<T> {
  const made: { it?: T } = {}
  beforeAll(async () => {
    made.it = await make()
  })
  afterAll(async () => {
    if (made.it !== undefined) await end(made.it)
  })
  return made as Later<T>
}

export function realRedis(...args: string[]): Later<RedisServer> {
  return beforeTests(
    () => startRedis(...args),
    (server) => server.stop(),
  )
}

/** Three primaries, each with a replica. */
export function realCluster(): Later<Awaited<ReturnType<typeof startCluster>>> {
  return beforeTests(startCluster, (cluster) => cluster.stop())
}

export function realSentinel(): Later<Awaited<ReturnType<typeof startSentinel>>> {
  return beforeTests(startSentinel, (watched) => watched.stop())
}

let prefixes = 0

export function freshPrefix(): string {
  return `test-${prefixes++}`
}

/** A limiter that waits for its answers even on a busy machine. */
export function patientLimiter(rules: LimiterOptions['rules'], store: RedisStore): Limiter<'async'> {
  return createLimiter({ rules, store, failure: { timeoutMs: 20_000 } })
}
