// The gates of an application whose routes may change options: one common gate, and one for each set of changed options.

import { SluiceError, show } from '../../core/errors.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import type { Adapter } from './adapter.ts'
import { Gate } from './gate.ts'
import type { AnyOptions, RouteOptions } from './options.ts'

/** Options that give a route counts of its own. */
const OWN_COUNTS = ['limiter', 'rules', 'store', 'failure'] as const

/** Throws ERR_OPTION unless `route` is an object of options or false. */
export function checkRouteOptions(door: string, route: unknown): void {
  if (route === false || (typeof route === 'object' && route !== null && !Array.isArray(route))) return
  const message = `${door} takes an object of options for a route, or false if the route is not limited, got ${show(route)}`
  throw new SluiceError('ERR_OPTION', message, { option: 'sluice', value: route })
}

export class RouteGates<R extends object, S> {
  /** The gate of routes without options of their own. */
  readonly common: Gate<R, S>
  readonly #door: string
  readonly #options: AnyOptions<R>
  readonly #shared: AnyOptions<R>
  readonly #adapter: Adapter<R, S>
  readonly #routes = new WeakMap<object, Gate<R, S>>()

  constructor(door: string, options: AnyOptions<R>, adapter: Adapter<R, S>) {
    this.#door = door
    this.#options = options
    // Gates over one store count together.
    this.#shared = options?.rules === undefined ? options : { store: memoryStore(), ...options }
    this.#adapter = adapter
    this.common = new Gate(door, this.#shared, adapter)
  }

  /** Returns the gate of a route; undefined if the route is not limited. Throws ERR_OPTION if `route` is neither. */
  of(route: RouteOptions<R> | undefined): Gate<R, S> | undefined {
    if (route === undefined) return this.common
    if (route === false) return undefined
    checkRouteOptions(this.#door, route)
    const known = this.#routes.get(route)
    if (known !== undefined) return known
    const gate = new Gate(this.#door, this.#optionsOf(route), this.#adapter)
    this.#routes.set(route, gate)
    return gate
  }

  #optionsOf(route: AnyOptions<R>): AnyOptions<R> {
    if (!OWN_COUNTS.some((name) => route[name] !== undefined)) return { ...this.#shared, ...route }
    const { limiter, rules, ...rest } = this.#options
    return (route.limiter ?? route.rules) === undefined ? { ...this.#options, ...route } : { ...rest, ...route }
  }
}
