// Bun's own client, `Bun.RedisClient`. It has no cluster, and rejects commands whose answer was lost: it does not resend them.

import type { Connection } from './redis-client.ts'

export interface BunRedisClient {
  readonly connected: boolean
  connect(): Promise<void>
  send(command: string, args: string[]): Promise<unknown>
}

export function isBun(client: object): client is BunRedisClient {
  return typeof (client as BunRedisClient)?.send === 'function' && typeof (client as BunRedisClient).connected === 'boolean'
}

export function bun(client: BunRedisClient): Connection {
  let isConnecting = false
  return {
    send: (_key, [command, ...args]) => client.send(command, args),
    isReady: () => client.connected,
    // The client connects with its first command, which would wait in its queue. It gives up after `maxRetries`, and after an
    // idle time it does not connect again by itself.
    reconnect() {
      if (isConnecting) return
      isConnecting = true
      client
        .connect()
        .catch(() => {})
        .finally(() => {
          isConnecting = false
        })
    },
    isCluster: false,
    resends: false,
    keyPrefix: '',
  }
}
