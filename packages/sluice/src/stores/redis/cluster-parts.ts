// The parts of a store in a cluster. All keys of one node are a part, by the client's map of slots. If the node is not known or not
// connected, all keys of the slot are a part: the client then routes the command by itself. If the node did not have a key of the
// slot a moment ago, each key of the slot is a part: while a slot is moving, Redis refuses commands on keys of both sides.
// Invariant: a part that is a slot or a key is right, whatever the map says.

import { SluiceError } from '../../core/errors.ts'
import { slotOf } from './hash-slot.ts'
import type { Connection } from './redis-client.ts'
import type { RedisKeys } from './redis-keys.ts'

/** The keys that share a command: all keys of a node, or all keys of a slot. */
export type ClusterMode = 'node' | 'slot'

/** Time for which the keys of a slot are asked one by one, after its node did not have one of them. */
const MOVING_MS = 1000

export class ClusterParts {
  readonly #connection: Connection
  readonly #keys: RedisKeys
  readonly #mode: ClusterMode | undefined
  /** True if keys of different slots may share a command. */
  #isByNode: boolean
  /** The time until which the keys of a slot are asked one by one. */
  readonly #movingUntilMs = new Map<number, number>()
  #lastKey: string | undefined
  #lastSlot = 0

  /** Throws ERR_OPTION if the mode is `'node'` and the client has no map of slots. */
  constructor(connection: Connection, keys: RedisKeys, mode: ClusterMode | undefined) {
    if (mode === 'node' && connection.nodes === undefined) {
      const message = "redisStore needs a client with a map of slots for cluster: 'node', such as ioredis or node-redis"
      throw new SluiceError('ERR_OPTION', message, { option: 'cluster', value: mode })
    }
    this.#connection = connection
    this.#keys = keys
    this.#mode = mode
    this.#isByNode = mode !== 'slot'
  }

  /** Returns the part of a key: a node, a slot or the key. */
  partOf(key: string): string {
    const slot = this.#slotOf(key)
    const { nodes } = this.#connection
    if (nodes === undefined || !this.#isByNode) return String(slot)
    if (this.#isMoving(slot)) return this.exactPartOf(key)
    const node = nodes.nodeOf(slot)
    return node !== undefined && nodes.isReady(node) ? node : String(slot)
  }

  /** Returns the key as a part, with its slot. */
  exactPartOf(key: string): string {
    return `${this.#slotOf(key)} ${key}`
  }

  /** Returns the name of a part's node, as far as the client knows. */
  serverOf(part: string): string {
    const slot = slotIn(part)
    return slot === undefined ? part : (this.#connection.nodes?.nodeOf(slot) ?? '')
  }

  /** Notes that a node did not have the states of a key. */
  noteMoved(key: string): void {
    this.#movingUntilMs.set(this.#slotOf(key), performance.now() + MOVING_MS)
  }

  /** Notes that the cluster forbids keys of different slots in a command. Returns false if the caller insists on them. */
  separateSlots(): boolean {
    if (this.#mode === 'node') return false
    this.#isByNode = false
    return true
  }

  #isMoving(slot: number): boolean {
    if (this.#movingUntilMs.size === 0) return false
    const untilMs = this.#movingUntilMs.get(slot)
    if (untilMs === undefined) return false
    if (performance.now() < untilMs) return true
    this.#movingUntilMs.delete(slot)
    return false
  }

  /** The part of a key is looked up several times in a row. */
  #slotOf(key: string): number {
    if (key !== this.#lastKey) {
      this.#lastSlot = slotOf(`${this.#connection.keyPrefix}${this.#keys.startOf(key)}}`)
      this.#lastKey = key
    }
    return this.#lastSlot
  }
}

/** Returns the slot of a part; undefined if the part is a node, which has a name such as `127.0.0.1:6379`. */
export function slotIn(part: string): number | undefined {
  return /^\d+(?: |$)/.test(part) ? Number.parseInt(part, 10) : undefined
}
