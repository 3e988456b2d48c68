// The nodes of an ioredis or iovalkey cluster, each with its own connection.
// Invariant: a command to a node is written once. A connection that resends commands counts as not ready.

import type { ClusterNodes, IoredisClient } from './redis-client.ts'

/** The connection of a cluster to one node. */
export interface IoredisNode {
  call(command: string, ...args: string[]): Promise<unknown>
  readonly status: string
  readonly options: {
    readonly host?: string | undefined
    readonly port?: number | undefined
    readonly retryStrategy?: unknown
    readonly autoResendUnfulfilledCommands?: boolean | undefined
  }
}

export function ioredisNodes(client: IoredisClient): ClusterNodes {
  /** Connections by the name of their node, as of the last look. */
  const known = new Map<string, IoredisNode>()
  const readyNode = (name: string): IoredisNode | undefined => {
    if (known.get(name)?.status !== 'ready') {
      known.clear()
      for (const node of client.nodes?.('master') ?? []) known.set(`${node.options.host}:${node.options.port}`, node)
    }
    const node = known.get(name)
    return node?.status === 'ready' && !resends(node) ? node : undefined
  }
  const ask: ClusterNodes['ask'] = (name, [command, ...args]) => {
    const node = readyNode(name)
    // Holds for the next command of the connection. Both are written at once.
    node?.call('ASKING').catch(() => {})
    return node?.call(command, ...args)
  }
  const { keyPrefix = '' } = (client.options as { readonly redisOptions?: { readonly keyPrefix?: string } }).redisOptions ?? {}
  return {
    nodeOf: (slot) => client.slots?.[slot]?.[0],
    isReady: (name) => readyNode(name) !== undefined,
    send: (name, _key, command) => readyNode(name)?.call(...(command as [string, ...string[]])),
    // Connections with a prefix of their own would add it to declared keys.
    ...(keyPrefix === '' && { ask }),
  }
}

/** A connection that is not opened again resends nothing. That is the default in a cluster. */
function resends({ options }: IoredisNode): boolean {
  return typeof options.retryStrategy === 'function' && options.autoResendUnfulfilledCommands !== false
}
