// The rules' definitions and nothing else: each key's state in an array of its own, settled, decided and written back.
// Slow and unbounded; what every other store is compared with, and the shortest store there is to read.

import type { TimerClock } from '../core/clock.ts'
import { type Decision, decide } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'
import type { Store, Tally } from '../core/store.ts'

/** A store that runs the definitions on plain arrays. For comparing with; never for production. */
export function definitionStore(clock: TimerClock): Store<'sync'> {
  const states = new Map<string, Float64Array>()
  const expired = (): string[] => [...states].filter(([, cells]) => cells[0] <= clock.now()).map(([id]) => id)
  return {
    mode: 'sync',
    clock,
    tally: (rules) => new DefinitionTally(states, clock, rules),
    clean() {
      const ids = expired()
      for (const id of ids) states.delete(id)
      return ids.length
    },
    get size() {
      return states.size
    },
    close() {},
  }
}

class DefinitionTally implements Tally<'sync'> {
  readonly #states: Map<string, Float64Array>
  readonly #clock: TimerClock
  readonly #rules: readonly Rule[]

  constructor(states: Map<string, Float64Array>, clock: TimerClock, rules: readonly Rule[]) {
    this.#states = states
    this.#clock = clock
    this.#rules = rules
  }

  hit(key: string, cost: number): Decision {
    const nowMs = this.#clock.now()
    const states = this.#rules.map((rule) => this.#load(rule, key))
    const waits = this.#rules.map((rule, i) => rule.waitMs(states[i], 0, nowMs, cost))
    const allowed = waits.every((waitMs) => waitMs === 0)
    this.#rules.forEach((rule, i) => {
      if (allowed || rule.countsDenied) rule.spend(states[i], 0, nowMs, cost)
      // A denied hit that counts may have moved the end of the wait.
      if (!allowed) waits[i] = rule.waitMs(states[i], 0, nowMs, cost)
      this.#save(rule, key, states[i])
    })
    return this.#decide(states, waits)
  }

  peek(key: string, cost: number): Decision {
    const states = this.#rules.map((rule) => this.#load(rule, key))
    const waits = this.#rules.map((rule, i) => rule.waitMs(states[i], 0, this.#clock.now(), cost))
    return this.#decide(states, waits)
  }

  inc(rule: number, key: string, cost: number): number {
    return this.#change(this.#rules[rule], key, (cells, nowMs) => this.#rules[rule].spend(cells, 0, nowMs, cost))
  }

  set(rule: number, key: string, used: number): number {
    return this.#change(this.#rules[rule], key, (cells, nowMs) => this.#rules[rule].put(cells, 0, nowMs, used))
  }

  get(rule: number, key: string): number {
    return this.#rules[rule].used(this.#load(this.#rules[rule], key), 0, this.#clock.now())
  }

  expiresAt(rule: number, key: string): number {
    return this.#load(this.#rules[rule], key)[0]
  }

  refund(key: string, cost: number, rule?: number): number {
    const rules = rule === undefined ? this.#rules : [this.#rules[rule]]
    const used = rules.map((rule) => this.#change(rule, key, (cells, nowMs) => rule.refund(cells, 0, nowMs, cost)))
    return used[0]
  }

  reset(key: string): void {
    for (const rule of this.#rules) this.#states.delete(idOf(rule, key))
  }

  #change(rule: Rule, key: string, change: (cells: Float64Array, nowMs: number) => void): number {
    const cells = this.#load(rule, key)
    change(cells, this.#clock.now())
    this.#save(rule, key, cells)
    return rule.used(cells, 0, this.#clock.now())
  }

  /** A settled copy of a key's state, with room for one more entry where it is a log. */
  #load(rule: Rule, key: string): Float64Array {
    const saved = this.#states.get(idOf(rule, key)) ?? new Float64Array(rule.width)
    const cells = new Float64Array(rule.log === undefined ? rule.width : rule.log.widthToSpend(saved, 0))
    if (rule.log === undefined) cells.set(saved)
    else rule.log.move(saved, 0, cells, 0, cells.length)
    rule.settle(cells, 0, this.#clock.now())
    return cells
  }

  #save(rule: Rule, key: string, cells: Float64Array): void {
    if (cells[0] === 0) this.#states.delete(idOf(rule, key))
    else this.#states.set(idOf(rule, key), cells)
  }

  #decide(states: readonly Float64Array[], waits: readonly number[]): Decision {
    const nowMs = this.#clock.now()
    const figures = this.#rules.flatMap((rule, i) => [
      rule.used(states[i], 0, nowMs),
      waits[i],
      Math.max(0, states[i][0] - nowMs),
    ])
    return decide(this.#rules, figures, 'store')
  }
}

function idOf(rule: Rule, key: string): string {
  return JSON.stringify([rule.algorithm, rule.name, key])
}
