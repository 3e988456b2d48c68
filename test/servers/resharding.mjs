// Moves slots of a real cluster from node to node, as redis-cli --cluster reshard does, and lets nodes join and leave.

import { Redis } from 'ioredis'
import { freePort, startRedis, until } from './redis-server.mjs'

/** @import { RedisServer } from './redis-server.mjs' */

/** Keys that one MIGRATE moves. A small number, so that a slot is often between two nodes. */
export const KEYS_AT_ONCE = 3

/** A connection to each node of a cluster, for commands about slots. */
export class Resharding {
  /** @type {Map<RedisServer, { client: Redis, id: string }>} */
  #nodes = new Map()

  /** @param {readonly RedisServer[]} primaries */
  static async of(primaries) {
    const resharding = new Resharding()
    for (const primary of primaries) await resharding.#connect(primary)
    return resharding
  }

  /** @param {RedisServer} server */
  async #connect(server) {
    const client = new Redis(server.port, '127.0.0.1')
    this.#nodes.set(server, { client, id: /** @type {string} */ (await client.call('CLUSTER', 'MYID')) })
  }

  /** @param {RedisServer} server */
  #at(server) {
    const node = this.#nodes.get(server)
    if (node === undefined) throw new Error(`port ${server.port} is not a node of the cluster`)
    return node
  }

  /**
   * The node that holds a slot, as it says itself.
   * @param {number} slot
   * @returns {Promise<RedisServer>}
   */
  async ownerOf(slot) {
    for (const server of this.#nodes.keys()) if ((await this.#ownerBy(server, slot)) === server.port) return server
    throw new Error(`slot ${slot} is on no node`)
  }

  /**
   * The port of the node that holds a slot, as a node says.
   * @param {RedisServer} server
   * @param {number} slot
   */
  async #ownerBy(server, slot) {
    const slots = await this.#at(server).client.call('CLUSTER', 'SLOTS')
    const ranges = /** @type {[number, number, [string, number]][]} */ (slots)
    return ranges.find(([from, to]) => from <= slot && slot <= to)?.[2][1]
  }

  /**
   * Moves a slot with its keys while clients use it. `pause` is awaited while some keys have moved and some have not.
   * @param {number} slot
   * @param {RedisServer} to
   * @param {() => Promise<unknown>} [pause]
   */
  async move(slot, to, pause) {
    const from = await this.ownerOf(slot)
    if (from === to) return
    const source = this.#at(from)
    const target = this.#at(to)
    // A node that takes a slot back needs a newer epoch than the other. Otherwise it loses the slot again, with its keys.
    await until('all nodes to know the newest epoch', () => this.#agreeOnEpoch())
    await target.client.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source.id)
    await source.client.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target.id)
    await pause?.()
    for (;;) {
      const names = /** @type {string[]} */ (await source.client.call('CLUSTER', 'GETKEYSINSLOT', slot, KEYS_AT_ONCE))
      if (names.length === 0) break
      await source.client.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5000, 'KEYS', ...names)
      await pause?.()
    }
    await target.client.call('CLUSTER', 'SETSLOT', slot, 'NODE', target.id)
    await source.client.call('CLUSTER', 'SETSLOT', slot, 'NODE', target.id)
    // A message from before the move may arrive late and change a node's mind. So each is told until it agrees.
    for (const server of this.#nodes.keys()) {
      await until(`port ${server.port} to know where slot ${slot} is`, async () => {
        if ((await this.#ownerBy(server, slot)) === to.port) return true
        await this.#at(server).client.call('CLUSTER', 'SETSLOT', slot, 'NODE', target.id)
        return false
      })
    }
  }

  async #agreeOnEpoch() {
    const infos = await Promise.all([...this.#nodes.values()].map(({ client }) => client.call('CLUSTER', 'INFO')))
    const epochOf = (/** @type {unknown} */ info) => /cluster_current_epoch:\d+/.exec(String(info))?.[0]
    return new Set(infos.map(epochOf)).size === 1
  }

  /** Starts a node without slots that joins the cluster. */
  async join() {
    const [{ client }] = this.#nodes.values()
    const busPort = String(await freePort())
    const how = ['--cluster-enabled', 'yes', '--cluster-port', busPort, '--cluster-node-timeout', '1000']
    // Otherwise it becomes a replica when it has given its last slot away.
    const node = await startRedis(...how, '--cluster-allow-replica-migration', 'no')
    await client.call('CLUSTER', 'MEET', '127.0.0.1', node.port, busPort)
    await this.#connect(node)
    await until('all nodes to know the new one', async () => {
      const lists = await Promise.all([...this.#nodes.values()].map((each) => each.client.call('CLUSTER', 'NODES')))
      return lists.every((list) => /** @type {string} */ (list).includes(this.#at(node).id))
    })
    await until('the new node to be ready', async () => (await node.cli('CLUSTER', 'INFO')).includes('cluster_state:ok'))
    return node
  }

  /**
   * Stops a node that holds no slots any more, after all others have forgotten it.
   * @param {RedisServer} node
   */
  async leave(node) {
    const { id, client } = this.#at(node)
    this.#nodes.delete(node)
    client.disconnect()
    for (const { client: other } of this.#nodes.values()) await other.call('CLUSTER', 'FORGET', id)
    await node.stop()
  }

  close() {
    for (const { client } of this.#nodes.values()) client.disconnect()
  }
}
