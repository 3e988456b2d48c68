// Counts of each policy, and of each of its rules: denials, and the clients that they concern.

import { OTHERS } from './client-table.ts'

/** A set of clients of the client table: one bit for each. */
class ClientSet {
  #bits = new Uint8Array(128)
  size = 0

  add(index: number): void {
    if (index === OTHERS) return
    const byte = index >> 3
    if (byte >= this.#bits.length) {
      const bits = new Uint8Array(Math.max(byte + 1, this.#bits.length * 2))
      bits.set(this.#bits)
      this.#bits = bits
    }
    const bit = 1 << (index & 7)
    if ((this.#bits[byte] & bit) !== 0) return
    this.#bits[byte] |= bit
    this.size += 1
  }
}

export class RuleCounts {
  readonly name: string
  denied = 0
  shadowDenied = 0
  firstMs = Number.NaN
  lastMs = Number.NaN
  /** Clients of the table that the rule denied, or would have denied in shadow mode. */
  readonly clients = new ClientSet()

  constructor(name: string) {
    this.name = name
  }

  deny(index: number, nowMs: number, isShadow: boolean): void {
    if (isShadow) this.shadowDenied += 1
    else this.denied += 1
    this.clients.add(index)
    if (Number.isNaN(this.firstMs)) this.firstMs = nowMs
    this.lastMs = nowMs
  }
}

export class PolicyCounts {
  readonly name: string
  requests = 0
  /** Requests that were not decided, because the policy can only be reserved. */
  undecided = 0
  readonly rules = new Map<string, RuleCounts>()

  constructor(name: string) {
    this.name = name
  }

  rule(name: string): RuleCounts {
    let counts = this.rules.get(name)
    if (counts === undefined) {
      counts = new RuleCounts(name)
      this.rules.set(name, counts)
    }
    return counts
  }
}
