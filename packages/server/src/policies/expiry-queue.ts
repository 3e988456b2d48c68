// The order in which policies expire: a binary heap with the earliest expiry at the top.
// Invariant: each policy is taken once. Policies that were replaced meanwhile stay until their time, or until they are the larger part.

import type { Policy } from './policy.ts'

/** Replaced policies that may stay, beside as many as there are others. */
const MOST_STALE = 1000

export class ExpiryQueue {
  readonly #heap: Policy[] = []
  readonly #isCurrent: (policy: Policy) => boolean
  /** Size at which replaced policies are dropped. */
  #mostSize = MOST_STALE

  /** `isCurrent` tells if a policy was neither replaced nor deleted. */
  constructor(isCurrent: (policy: Policy) => boolean) {
    this.#isCurrent = isCurrent
  }

  /** Time of the earliest expiry; Infinity if there is none. */
  get nextMs(): number {
    return this.#heap[0]?.expiresAtMs ?? Number.POSITIVE_INFINITY
  }

  /** Number of policies in the queue, including replaced ones. */
  get size(): number {
    return this.#heap.length
  }

  /** Adds a policy. One that does not expire is left out. */
  add(policy: Policy): void {
    if (policy.expiresAtMs === Number.POSITIVE_INFINITY) return
    if (this.#heap.length >= this.#mostSize) this.#dropStale()
    this.#push(policy)
  }

  /** Removes and returns a policy that has expired at `nowMs`; undefined if there is none. */
  take(nowMs: number): Policy | undefined {
    while (this.nextMs <= nowMs) {
      const policy = this.#pop()
      if (this.#isCurrent(policy)) return policy
    }
    return undefined
  }

  clear(): void {
    this.#heap.length = 0
  }

  #dropStale(): void {
    const current = this.#heap.filter(this.#isCurrent)
    this.#heap.length = 0
    for (const policy of current) this.#push(policy)
    this.#mostSize = 2 * current.length + MOST_STALE
  }

  #push(policy: Policy): void {
    const heap = this.#heap
    let at = heap.length
    while (at > 0) {
      const parent = (at - 1) >>> 1
      if (heap[parent].expiresAtMs <= policy.expiresAtMs) break
      heap[at] = heap[parent]
      at = parent
    }
    heap[at] = policy
  }

  /** Precondition: the heap is not empty. */
  #pop(): Policy {
    const heap = this.#heap
    const top = heap[0]
    const last = heap.pop() as Policy
    if (heap.length === 0) return top
    let at = 0
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && heap[child + 1].expiresAtMs < heap[child].expiresAtMs) child += 1
      if (heap[child].expiresAtMs >= last.expiresAtMs) break
      heap[at] = heap[child]
      at = child
    }
    heap[at] = last
    return top
  }
}
