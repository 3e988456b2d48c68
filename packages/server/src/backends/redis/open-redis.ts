// Opens Redis as the database of the service.

import { redisStore } from 'sluice/redis'
import type { DatabaseOptions, OpenedDatabase } from '../database.ts'
import { redisAuditTrail } from './redis-audit-log.ts'
import { type RedisAddress, RedisConnection } from './redis-connection.ts'
import { redisDatabase } from './redis-database.ts'
import { redisFleet } from './redis-fleet.ts'

/** Maximum number of calls in one Redis command. Above the maximum of a batch, so a batch is one command. */
const CALLS_A_COMMAND = 1024

export async function openRedis(address: RedisAddress, { onError }: DatabaseOptions): Promise<OpenedDatabase> {
  const connection = new RedisConnection(address, onError)
  return {
    records: redisDatabase(connection.send),
    audit: redisAuditTrail(connection.send),
    fleet: redisFleet(connection.send),
    store: redisStore(connection.client, { batch: CALLS_A_COMMAND }),
    size: () => undefined,
    evictions: () => undefined,
    connect: () => connection.connect(),
    close: () => connection.close(),
  }
}
