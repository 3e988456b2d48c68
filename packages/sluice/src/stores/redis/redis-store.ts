// The Redis store: the scripted engine over Redis or Valkey. One program decides all calls atomically, on Redis' clock.

import type { Clock } from '../../core/clock.ts'
import { SluiceError, show } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import type { Store } from '../../core/store.ts'
import { isWhole } from '../../core/whole-numbers.ts'
import { scriptedStore } from '../../engines/scripted.ts'
import { checkedClock, systemClock } from '../../engines/system-clock.ts'
import { slotOf } from './hash-slot.ts'
import { RedisBatch } from './redis-batch.ts'
import { type Connection, connectionOf, type RedisClient } from './redis-client.ts'
import { describeRules, type RedisRules } from './redis-command.ts'
import { storeError } from './redis-errors.ts'
import { RedisKeys } from './redis-keys.ts'

export interface RedisStoreOptions {
  /** Prefix of all names in Redis. Default: `sluice`. */
  readonly prefix?: string
  /** A clock instead of Redis' own. Only for tests: processes with different clocks would decide differently. */
  readonly clock?: Clock
  /** The most calls in one command. With 1, each call is a command of its own. Default: 64. */
  readonly batch?: number
}

export interface RedisStore extends Store<'async'> {}

const OPTIONS = ['prefix', 'clock', 'batch'] as const

/**
 * Larger commands save little, block Redis for its other clients for longer, and leave Redis idle while the answers are read.
 * With two commands of 64 calls under way, Redis decides one while the answers of the other are handed out.
 */
const DEFAULT_BATCH = 64
const MOST_BATCH = 1024

/** Makes a store in Redis or Valkey, for any number of processes. The caller connects and closes the client. */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): RedisStore {
  checkOptions('redisStore', options, OPTIONS)
  const { prefix = 'sluice', clock, batch = DEFAULT_BATCH } = options
  if (!isWhole(batch, 1, MOST_BATCH)) {
    throw new SluiceError(
      'ERR_OPTION',
      `redisStore needs batch to be a whole number from 1 to ${MOST_BATCH}, got ${show(batch)}`,
      { option: 'batch', value: batch },
    )
  }
  const checked = clock === undefined ? undefined : checkedClock(clock)
  const connection = connectionOf(client)
  const keys = new RedisKeys(prefix)
  const commands = new RedisBatch(connection, keys, checked?.now)
  const { nodeOf } = connection
  return scriptedStore<RedisRules>({
    clock: checked ?? systemClock,
    most: batch,
    describe: (rules) => describeRules(rules, keys),
    execute: (part, calls) => commands.execute(part, calls),
    sortError: storeError,
    isOpen: () => commands.isOpen(),
    size: () => countStates(connection, keys),
    ...(connection.isCluster && {
      partOf: (key) => String(slotOf(`${keys.startOf(key)}}`)),
      serverOf: (part) => nodeOf?.(Number(part)) ?? '',
    }),
  })
}

/** Counts states by scanning all names in the database. Slow: only for people and tests. */
async function countStates(connection: Connection, keys: RedisKeys): Promise<number> {
  if (connection.isCluster) {
    throw new SluiceError('ERR_STORE_FATAL', 'a store on a cluster has no size: no command reads all of its nodes')
  }
  const pattern = keys.pattern(connection.keyPrefix)
  const seen = new Set<string>()
  let cursor = '0'
  do {
    const scan = ['SCAN', cursor, 'MATCH', pattern, 'COUNT', '1000']
    const reply = await connection.send('', scan).catch((error: unknown) => Promise.reject(storeError(error)))
    const [next, names] = reply as [unknown, unknown[]]
    for (const name of names) seen.add(String(name))
    cursor = String(next)
  } while (cursor !== '0')
  return seen.size
}
