// Adapters for the Redis clients that people use. No client is imported.

import { SluiceError, show } from '../../core/errors.ts'
import { type BunRedisClient, bun, isBun } from './bun-client.ts'
import { type IoredisNode, ioredisNodes } from './ioredis-nodes.ts'
import { writingOnce } from './ioredis-once.ts'
import { type NodeRedisSender, sendingLone } from './node-redis-lone.ts'
import { type NodeRedisCluster, nodeRedisNodes } from './node-redis-nodes.ts'
import { isUpstash, type UpstashClient, upstash } from './upstash-client.ts'
import { isUpstashRest, type UpstashRest, upstashRest } from './upstash-rest.ts'

/** The smallest client: sends one command, routed by `key`. */
export interface SendCommand {
  (key: string, command: readonly string[]): Promise<unknown>
  /** True for a cluster, in which keys of different slots must not share a command. Default: false. */
  readonly isCluster?: boolean
  /** True if the client repeats a command whose answer was lost. Redis may then get the command twice. Default: false. */
  readonly resends?: boolean
}

/**
 * A client of ioredis, iovalkey, node-redis or valkey-glide, for one server or a cluster; Bun's client; Upstash's client, or the
 * address and token of its REST API.
 */
export type RedisClient =
  | SendCommand
  | IoredisClient
  | NodeRedisClient
  | GlideClient
  | BunRedisClient
  | UpstashClient
  | UpstashRest

export interface IoredisClient {
  call(command: string, ...args: string[]): Promise<unknown>
  readonly isCluster?: boolean
  readonly options: object
  readonly status: string
  /** The nodes that hold each slot, the primary first. */
  readonly slots?: readonly (readonly string[])[]
  nodes?(role: 'master'): readonly IoredisNode[]
}

export interface NodeRedisClient extends NodeRedisCluster {
  readonly isOpen: boolean
  readonly isReady?: boolean
  // The arguments differ between a single client, a Sentinel and a cluster.
  sendCommand(...args: never[]): Promise<unknown>
}

export interface GlideClient {
  customCommand(args: string[], options?: never): Promise<unknown>
}

export interface Connection {
  send(key: string, command: readonly string[]): Promise<unknown>
  /** True if a command would be written now. Otherwise it would wait in the client, without a bound, and run much later. */
  isReady(): boolean
  /** Starts to connect, while it is not ready. Omitted if the client does so by itself. */
  reconnect?(): void
  readonly isCluster: boolean
  readonly resends: boolean
  /** The prefix that the client adds to every key. */
  readonly keyPrefix: string
  /**
   * False if the calls of a turn must be one command: commands may take several connections, where one overtakes another, or every
   * command has a price. Default: true.
   */
  readonly overlaps?: boolean
  /** The least calls that are worth a command of their own. Default: 8. */
  readonly leastOverlapped?: number
  /** The nodes of a cluster, if the client has a map of slots. */
  readonly nodes?: ClusterNodes
}

export interface ClusterNodes {
  /** Returns the name of the node that holds a slot, as far as the client knows. */
  nodeOf(slot: number): string | undefined
  /** True if a command would be written to the node now, and never again. */
  isReady(node: string): boolean
  /** Sends a command to a node, which the client finds by its name or by `key`. Undefined if the node is not ready. */
  send(node: string, key: string, command: readonly string[]): Promise<unknown> | undefined
  /** Sends a command to a node that a slot is moving to. Omitted if commands with declared keys must be routed by the client. */
  ask?(node: string, command: readonly string[]): Promise<unknown> | undefined
}

interface Emitter {
  on?(event: 'error', listener: () => void): unknown
}

/** Clients that have a listener already. Many stores on one client add only one. */
const listened = new WeakSet<object>()

export function connectionOf(client: RedisClient): Connection {
  if (typeof client === 'function') return ofFunction(client)
  if (typeof (client as Emitter | undefined)?.on === 'function' && !listened.has(client)) {
    // Without a listener, an error of an idle connection ends the process.
    listened.add(client)
    ;(client as Emitter).on?.('error', () => {})
  }
  if (isIoredis(client)) return ioredis(client)
  if (isGlide(client)) return glide(client)
  if (isNodeRedis(client)) return nodeRedis(client)
  if (isBun(client)) return bun(client)
  if (isUpstash(client)) return upstash(client)
  if (isUpstashRest(client)) return upstashRest(client)
  const got = typeof (client as PromiseLike<unknown> | undefined)?.then === 'function' ? 'a promise: await it' : show(client)
  throw new SluiceError(
    'ERR_OPTION',
    'redisStore takes a client of ioredis, iovalkey, node-redis, valkey-glide, Bun or @upstash/redis, ' +
      `{ url, token } of Upstash's REST API, or a function (key, command) => Promise, got ${got}`,
  )
}

function ofFunction(send: SendCommand): Connection {
  const { isCluster = false, resends = false } = send
  return {
    // A function without a result may have sent the command. Its call is unknown, not refused and sent again.
    send: async (key, command) => send(key, command),
    isReady: () => true,
    isCluster,
    resends,
    keyPrefix: '',
    // The function may use several connections, or HTTP.
    overlaps: false,
  }
}

export function isIoredis(client: object): client is IoredisClient {
  return typeof (client as IoredisClient)?.call === 'function' && typeof (client as IoredisClient).options === 'object'
}

function ioredis(client: IoredisClient): Connection {
  const isCluster = client.isCluster === true
  const { autoResendUnfulfilledCommands = true, keyPrefix = '' } = client.options as {
    autoResendUnfulfilledCommands?: boolean
    keyPrefix?: string
  }
  // A cluster sends a command again to the right node, too, and must.
  const once = isCluster ? undefined : writingOnce(client)
  const sender = once ?? client
  return {
    send: (_key, command) => sender.call(...(command as [string, ...string[]])),
    // A client with the status 'wait' connects with its first command.
    isReady: () => client.status === 'ready' || client.status === 'wait',
    isCluster,
    // A cluster resends if a node has gone, with any options.
    resends: isCluster || (autoResendUnfulfilledCommands && once === undefined),
    keyPrefix,
    // A command of other clients takes twice as long. In a cluster, commands to different nodes overlap anyway.
    ...(isCluster ? { nodes: ioredisNodes(client) } : { leastOverlapped: 4 }),
  }
}

function isNodeRedis(client: object): client is NodeRedisClient {
  return typeof (client as NodeRedisClient)?.sendCommand === 'function'
}

function nodeRedis(client: NodeRedisClient): Connection {
  const isSentinel = 'getSentinelNode' in client
  const common = {
    // A pool has only `isOpen`.
    isReady: () => client.isReady ?? client.isOpen,
    // With Sentinels, the client resends if the primary has gone.
    resends: isSentinel,
    keyPrefix: '',
  }
  const send = client.sendCommand.bind(client) as (...args: unknown[]) => Promise<unknown>
  if ('getSlotRandomNode' in client || 'nodeClient' in client) {
    const { route, nodes } = nodeRedisNodes(client, (key, command) => send(key, false, command))
    return { ...common, send: route, nodes, isCluster: true }
  }
  // A pool has several connections, and with Sentinels the client may have a pool.
  const isOne = client.isReady !== undefined && !isSentinel
  if (!isOne) {
    return {
      ...common,
      send: (_key, command) => (isSentinel ? send(false, command) : send(command)),
      isCluster: false,
      overlaps: false,
    }
  }
  const sendLone = sendingLone()
  return { ...common, send: (_key, command) => sendLone(client as NodeRedisSender, command), isCluster: false }
}

function isGlide(client: object): client is GlideClient {
  return typeof (client as GlideClient)?.customCommand === 'function'
}

function glide(client: GlideClient): Connection {
  const isCluster = 'fcallWithRoute' in client
  const send = client.customCommand.bind(client) as (args: string[], options?: object) => Promise<unknown>
  return {
    async send(key, command) {
      try {
        return await send([...command], isCluster ? { route: { type: 'primarySlotKey', key } } : undefined)
      } catch (error) {
        throw inWordsOfRedis(error)
      }
    },
    isReady: () => true,
    isCluster,
    resends: false,
    keyPrefix: '',
  }
}

/** Redis' names of errors, by Glide's own names. Other names of Glide differ only in spelling, such as `TryAgain`. */
const WORDS_OF_GLIDE: Readonly<Record<string, string>> = {
  AuthenticationFailed: 'WRONGPASS',
  BusyLoadingError: 'LOADING',
  NoScriptError: 'NOSCRIPT',
  PermissionDenied: 'NOPERM',
  ResponseError: 'ERR',
}

function inWordsOfRedis(error: unknown): unknown {
  const [, name, rest] = /^An error was signalled by the server: - (\w+): (.*)$/s.exec((error as Error)?.message) ?? []
  if (name === undefined) return error
  return new Error(`${WORDS_OF_GLIDE[name] ?? name.toUpperCase()} ${rest}`, { cause: error })
}
