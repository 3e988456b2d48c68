// A connection of the store's own, beside the application's client, which resends nothing. Its commands need no note.

import { SluiceError } from '../../core/errors.ts'
import { type Connection, connectionOf, type IoredisClient, isIoredis, type RedisClient } from './redis-client.ts'

/** A client of ioredis or iovalkey for one server. */
interface Duplicable extends IoredisClient {
  duplicate(options: { readonly autoResendUnfulfilledCommands: boolean }): Duplicable
  quit(): Promise<unknown>
  disconnect(): void
}

export interface OwnConnection {
  readonly connection: Connection
  /** Closes the connection, after the answers to commands under way. */
  close(): Promise<void>
}

/** Connects to the server of `client` once more. Throws ERR_OPTION if the client is not of ioredis or iovalkey, or is a cluster. */
export function openOwnConnection(client: RedisClient): OwnConnection {
  if (!isDuplicable(client)) {
    throw new SluiceError(
      'ERR_OPTION',
      'redisStore can make its own connection only with an ioredis or iovalkey client of one server. Other clients resend nothing, ' +
        'and clusters have connections that resend nothing already',
      { option: 'ownConnection', value: true },
    )
  }
  const own = client.duplicate({ autoResendUnfulfilledCommands: false })
  return {
    connection: connectionOf(own),
    async close() {
      if (own.status === 'ready') await own.quit().catch(() => {})
      own.disconnect()
    },
  }
}

function isDuplicable(client: RedisClient): client is Duplicable {
  return isIoredis(client) && client.isCluster !== true && typeof (client as Duplicable).duplicate === 'function'
}
