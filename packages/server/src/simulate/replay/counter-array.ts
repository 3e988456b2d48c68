// A counter array: the counters of all clients under one policy with one rule, by the number of the client. Nothing is hashed, and a
// decision makes no object.
// Invariant: the rule decides, in place, as a store runs it. A counter array has the counters of whole keys: no other limiter counts under
// them.

import type { Rule } from 'sluice'
import type { Policy } from '../../policies/policy.ts'

const FIRST_CLIENTS = 256

/** True if a counter array can decide as the policy does. All rules of a plain policy count by one key. */
export function fitsArray({ isPlain, mode, rules }: Policy): boolean {
  const [rule, ...others] = rules
  const isOne = rule !== undefined && others.length === 0 && rule.log === undefined && rule.isHeld !== true
  return isPlain && isOne && (mode === 'enforce' || mode === 'shadow')
}

/** `N` are notes of the owner of the array. */
export class CounterArray<N> {
  readonly policy: Policy
  readonly rule: Rule
  readonly isShadow: boolean
  readonly notes: N
  readonly #width: number
  #cells: Float64Array

  /** Precondition: `fitsArray`. */
  constructor(policy: Policy, notes: N) {
    const [rule] = policy.rules
    this.policy = policy
    this.rule = rule
    this.isShadow = policy.mode === 'shadow'
    this.notes = notes
    this.#width = rule.width
    this.#cells = new Float64Array(FIRST_CLIENTS * rule.width)
  }

  /** Decides and spends. Returns the time until the cost fits: 0 if it does now. */
  take(client: number, nowMs: number, cost: number): number {
    const at = client * this.#width
    if (at >= this.#cells.length) this.#grow(client)
    return this.rule.take(this.#cells, at, nowMs, cost)
  }

  /** Returns the units that a client has used, at most the limit. Precondition: `take` was called at the same time. */
  used(client: number, nowMs: number): number {
    const { rule } = this
    return Math.min(rule.limit, rule.used(this.#cells, client * this.#width, nowMs))
  }

  #grow(client: number): void {
    let clients = this.#cells.length / this.#width
    while (clients <= client) clients *= 2
    const cells = new Float64Array(clients * this.#width)
    cells.set(this.#cells)
    this.#cells = cells
  }
}
