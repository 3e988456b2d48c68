// The service's connection to Redis: one server, a cluster, or a group watched by sentinels.
// Invariant: it tries to connect until it is closed, and a command that cannot be sent now is not sent later.

import { setTimeout as pause } from 'node:timers/promises'
import { createClient, createCluster, createSentinel } from '@redis/client'
import type { RedisClient, SendCommand } from 'sluice/redis'
import type { StoreAddress } from '../../config/store-address.ts'

/** Pauses between attempts to connect: short at first, then up to two seconds, with jitter. */
const FIRST_RETRY_MS = 50
const LONGEST_RETRY_MS = 2000

const CONNECT_MS = 5000

export type RedisAddress = Extract<StoreAddress, { readonly urls: readonly string[] }>

interface NodeRedis {
  on(event: 'error', listener: (error: Error) => void): unknown
  connect(): Promise<unknown>
  destroy(): unknown
}

export class RedisConnection {
  /** The client for the store. */
  readonly client: RedisClient
  /** Sends one command to the node of `key`. */
  readonly send: SendCommand
  readonly #client: NodeRedis
  #isClosed = false

  /** `onError` is called for every error of the connection. */
  constructor(address: RedisAddress, onError: (error: Error) => void) {
    const { client, send } = clientFor(address)
    client.on('error', onError)
    this.#client = client
    this.client = client as unknown as RedisClient
    this.send = send
  }

  /** Tries until it is connected or closed. */
  async connect(): Promise<void> {
    for (let tries = 0; !this.#isClosed; tries++) {
      try {
        await this.#client.connect()
        return
      } catch {
        // `onError` has been called.
        await pause(retryAfterMs(tries), undefined, { ref: false })
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    try {
      await this.#client.destroy()
    } catch {
      // The client was not connected.
    }
  }
}

function retryAfterMs(tries: number): number {
  const most = Math.min(FIRST_RETRY_MS * 2 ** Math.min(tries, 10), LONGEST_RETRY_MS)
  return Math.round(most * (0.5 + Math.random() / 2))
}

function clientFor(address: RedisAddress): { readonly client: NodeRedis; readonly send: SendCommand } {
  const [url] = address.urls
  const socket = { reconnectStrategy: retryAfterMs, connectTimeout: CONNECT_MS, noDelay: true }
  if (address.kind === 'redis' && address.urls.length === 1) {
    const client = createClient({ url, socket, disableOfflineQueue: true })
    return { client, send: (_key, command) => client.sendCommand([...command]) }
  }
  // Nodes report each other's addresses, but not the login, so it is passed for all of them.
  const { username, password, protocol } = new URL(url)
  const login = {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
  }
  const secured = protocol === 'rediss:' ? { ...socket, tls: true as const } : socket
  if (address.kind === 'redis') {
    const client = createCluster({
      rootNodes: address.urls.map((node) => ({ url: node })),
      defaults: { ...login, socket: secured, disableOfflineQueue: true },
    })
    return { client, send: (key, command) => client.sendCommand(key, false, [...command]) }
  }
  const client = createSentinel({
    name: address.service,
    sentinelRootNodes: address.urls.map((node) => ({ host: new URL(node).hostname, port: Number(new URL(node).port || 26_379) })),
    nodeClientOptions: { ...login, socket: secured },
  })
  return { client, send: (_key, command) => client.sendCommand(false, [...command]) }
}
