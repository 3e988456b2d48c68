// The nodes of a node-redis cluster. A command to a node goes to the client of that node: the way through the cluster takes longer than
// the rest of a lone hit in this process.
// Invariant: no command overtakes an earlier one. A command that the cluster routes is handed to the client of its node some ticks later,
// or when that is connected, or after it was sent to a wrong node. So while there is one, the cluster routes all of them.

import { type NodeRedisSender, sendingLone } from './node-redis-lone.ts'
import type { ClusterNodes } from './redis-client.ts'

/** A node as the cluster knows it. Its client is connected when the first command needs it. */
export interface NodeRedisNode {
  readonly address: string
  readonly client?: (NodeRedisSender & { readonly isReady: boolean }) | undefined
  readonly connectPromise?: unknown
}

export interface NodeRedisCluster {
  readonly slots?: readonly { readonly master: NodeRedisNode }[]
  readonly nodeByAddress?: ReadonlyMap<string, NodeRedisNode>
}

/** Sends a command, routed by `key`. */
type Route = (key: string, command: readonly string[]) => Promise<unknown>

export function nodeRedisNodes(
  cluster: NodeRedisCluster,
  sendRouted: Route,
): { readonly route: Route; readonly nodes: ClusterNodes } {
  /** Commands that the cluster routes and that are not answered. */
  let routed = 0
  const send = sendingLone()
  const route: Route = async (key, command) => {
    routed += 1
    try {
      return await sendRouted(key, command)
    } finally {
      routed -= 1
    }
  }
  return {
    route,
    nodes: {
      nodeOf: (slot) => cluster.slots?.[slot]?.master.address,
      isReady: () => true,
      send(node, key, command) {
        const { client, connectPromise } = cluster.nodeByAddress?.get(node) ?? {}
        const isDirect = routed === 0 && connectPromise === undefined && client?.isReady === true
        return isDirect ? send(client, command) : route(key, command)
      },
    },
  }
}
