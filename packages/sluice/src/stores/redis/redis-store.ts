// The Redis store: the scripted engine over Redis or Valkey. One program decides all calls atomically, on Redis' clock.

import type { Clock } from '../../core/clock.ts'
import { SluiceError, show } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import type { Store } from '../../core/store.ts'
import { isWhole } from '../../core/whole-numbers.ts'
import { scriptedStore } from '../../engines/scripted.ts'
import { sortedError } from '../../engines/store-errors.ts'
import { checkedClock } from '../../engines/system-clock.ts'
import { type ClusterMode, ClusterParts } from './cluster-parts.ts'
import { openOwnConnection } from './own-connection.ts'
import { RedisBatch } from './redis-batch.ts'
import { type Connection, connectionOf, type RedisClient } from './redis-client.ts'
import { describeRules, type RedisRules } from './redis-command.ts'
import { redisErrorKind } from './redis-errors.ts'
import { RedisKeys } from './redis-keys.ts'

export interface RedisStoreOptions {
  /** Prefix of all names in Redis. Default: `sluice`. */
  readonly prefix?: string
  /** A clock instead of Redis' own. Only for tests: processes with different clocks would decide differently. */
  readonly clock?: Clock
  /** The most calls in one command. With 1, each call is a command of its own. Default: 64. */
  readonly batch?: number
  /**
   * The keys that share a command in a cluster: all keys of a node, or all keys of a slot. Default: of a node, if the client has a
   * map of slots and the servers allow it.
   */
  readonly cluster?: ClusterMode
  /**
   * True if the store opens a connection of its own, which resends nothing, and closes it in `close`. Only with ioredis and
   * iovalkey clients of one server. Default: false.
   */
  readonly ownConnection?: boolean
}

export interface RedisStore extends Store<'async'> {}

const OPTIONS = ['prefix', 'clock', 'batch', 'cluster', 'ownConnection'] as const

const CLUSTER_MODES: readonly unknown[] = ['node', 'slot'] satisfies ClusterMode[]

/**
 * Larger commands save little, block Redis for its other clients for longer, and leave Redis idle while the answers are read.
 * With two commands of 64 calls under way, Redis decides one while the answers of the other are handed out.
 */
const DEFAULT_BATCH = 64
const MOST_BATCH = 1024

const LEAST_OVERLAPPED = 8

/** Makes a store in Redis or Valkey, for any number of processes. The caller connects and closes the client. */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): RedisStore {
  checkOptions('redisStore', options, OPTIONS)
  const { prefix = 'sluice', clock, batch = DEFAULT_BATCH, cluster, ownConnection = false } = options
  if (!isWhole(batch, 1, MOST_BATCH)) {
    throw new SluiceError(
      'ERR_OPTION',
      `redisStore needs batch to be a whole number from 1 to ${MOST_BATCH}, got ${show(batch)}`,
      { option: 'batch', value: batch },
    )
  }
  if (cluster !== undefined && !CLUSTER_MODES.includes(cluster)) {
    const message = `redisStore needs cluster to be 'node' or 'slot', got ${show(cluster)}`
    throw new SluiceError('ERR_OPTION', message, { option: 'cluster', value: cluster })
  }
  if (typeof ownConnection !== 'boolean') {
    const message = `redisStore needs ownConnection to be true or false, got ${show(ownConnection)}`
    throw new SluiceError('ERR_OPTION', message, { option: 'ownConnection', value: ownConnection })
  }
  const checked = clock === undefined ? undefined : checkedClock(clock)
  const keys = new RedisKeys(prefix)
  const own = ownConnection ? openOwnConnection(client) : undefined
  const connection = own?.connection ?? connectionOf(client)
  const parts = connection.isCluster ? new ClusterParts(connection, keys, cluster) : undefined
  const commands = new RedisBatch(connection, keys, checked?.now, parts)
  return scriptedStore<RedisRules>({
    ...(checked && { clock: checked }),
    most: batch,
    leastOverlapped: connection.overlaps === false ? undefined : (connection.leastOverlapped ?? LEAST_OVERLAPPED),
    describe: (rules) => describeRules(rules, keys),
    execute: (part, calls) => commands.execute(part, calls),
    sortError: redisErrorKind,
    isOpen: () => commands.isOpen(),
    size: () => countStates(connection, keys),
    close: async () => own?.close(),
    ...(parts !== undefined && {
      partOf: (key) => parts.partOf(key),
      exactPartOf: (key) => parts.exactPartOf(key),
      serverOf: (part) => parts.serverOf(part),
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
    const reply = await connection
      .send('', scan)
      .catch((error: unknown) => Promise.reject(sortedError(error, redisErrorKind, 'unknown')))
    const [next, names] = reply as [unknown, unknown[]]
    for (const name of names) seen.add(String(name))
    cursor = String(next)
  } while (cursor !== '0')
  return seen.size
}
