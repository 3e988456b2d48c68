// Reads requests from the lines of a log: the time, the client, the route, the cost and the attributes, each from the fields that a
// mapping names.
// Invariant: an entry has the limits of a check of the service. A line that breaks one is a problem, and is not decided.

import { type PathFold, plainPath } from 'sluice/http'
import { LIMITS } from '../../contract/limits.ts'
import type { Attributes } from '../../policies/request-facts.ts'
import type { FormFacts, FormOptions } from './forms.ts'
import { FieldError, type LogForm } from './log-form.ts'
import { LogTimes } from './log-time.ts'

/** A request of a log. It is filled again for each line. */
export interface LogEntry {
  timeMs: number
  clientId: string
  route: string
  cost: number
  attributes: Attributes | undefined
}

/** A part of the request that may precede the path in a route. */
export type RoutePrefix = 'method' | 'host'

/** Names of fields. Where there are several, the first one that a line has is used. */
export interface FieldMapping {
  readonly client?: readonly string[]
  readonly time?: readonly string[]
  readonly method?: readonly string[]
  readonly path?: readonly string[]
  readonly host?: readonly string[]
  /** A field that is the whole route, as it is. Then the path is not read. */
  readonly route?: readonly string[]
  /** Default: every request costs 1. */
  readonly cost?: readonly string[]
  /** Attributes by name. */
  readonly attributes?: Readonly<Record<string, string>>
  /** Parts before the path in the route, as in `POST /orders`. */
  readonly prefixes?: readonly RoutePrefix[]
  /** Differences in the spelling of a path to ignore. */
  readonly fold?: readonly PathFold[]
}

/** Maximum number of routes that are kept, and the longest text that they are kept for. */
const MOST_ROUTES = 20_000
const LONGEST_KEPT = 512

export class EntryReader {
  readonly form: FormFacts
  readonly #form: LogForm
  readonly #times = new LogTimes()
  readonly #client: readonly number[]
  readonly #time: readonly number[]
  readonly #method: readonly number[]
  readonly #path: readonly number[]
  readonly #host: readonly number[]
  readonly #route: readonly number[]
  readonly #cost: readonly number[]
  readonly #attributes: readonly (readonly [name: string, index: number])[]
  readonly #fold: readonly PathFold[]
  /** The column that the whole route is made of; undefined if there are several. */
  readonly #routeColumn: number | undefined
  readonly #routes = new Map<string, string>()

  /** Throws FieldError if the form lacks a field. */
  constructor(form: FormFacts, mapping: FieldMapping, options: FormOptions) {
    this.form = form
    this.#form = form.make(options)
    const { usual } = form
    const { prefixes = [], attributes = {}, fold = [] } = mapping
    const found = (names: readonly string[] = []): number[] => names.map((name) => this.#form.find(name))
    this.#client = found(mapping.client ?? usual.client)
    this.#time = found(mapping.time ?? usual.time)
    this.#route = found(mapping.route)
    this.#path = mapping.route === undefined ? found(mapping.path ?? usual.path) : []
    this.#method = prefixes.includes('method') ? found(mapping.method ?? usual.method) : []
    const host = mapping.host ?? usual.host
    if (prefixes.includes('host') && host.length === 0)
      throw new FieldError(`the form ${form.name} has no field for the host: name one`)
    this.#host = prefixes.includes('host') ? found(host) : []
    this.#cost = found(mapping.cost)
    this.#attributes = Object.entries(attributes).map(([name, field]) => [name, this.#form.find(field)] as const)
    this.#fold = fold
    const fields = [...this.#path, ...this.#method, ...this.#host]
    const [column, ...others] = new Set(fields.map((index) => this.#form.column?.(index) ?? index))
    this.#routeColumn = others.length === 0 ? column : undefined
  }

  /** Called at the start of each file. */
  begin(): void {
    this.#form.begin()
  }

  /** Reads a line into `entry`. Returns undefined, NO_REQUEST, or the problem. */
  read(text: string, from: number, to: number, entry: LogEntry): string | undefined {
    const problem = this.#form.parse(text, from, to)
    if (problem !== undefined) return problem
    const written = this.#first(this.#time)
    if (written === '') return 'it has no time'
    const timeMs = this.#times.read(written)
    if (Number.isNaN(timeMs)) return `its time cannot be read: ${short(written)}`
    const clientId = this.#first(this.#client)
    if (clientId === '') return 'it has no client'
    if (clientId.length > LIMITS.longestClientId) return `its client is longer than ${LIMITS.longestClientId} characters`
    const route = this.#routeOf()
    if (route === '') return 'it has no path'
    if (route.length > LIMITS.longestRoute) return `its route is longer than ${LIMITS.longestRoute} characters`
    entry.cost = 1
    if (this.#cost.length > 0) {
      const cost = costOf(this.#first(this.#cost))
      if (cost === undefined) return `its cost is no number: ${short(this.#first(this.#cost))}`
      entry.cost = cost
    }
    entry.timeMs = timeMs
    entry.clientId = clientId
    entry.route = route
    if (this.#attributes.length === 0) return undefined
    entry.attributes = this.#readAttributes()
    const tooLong = Object.values(entry.attributes).some((value) => value.length > LIMITS.longestValue)
    return tooLong ? `it has an attribute longer than ${LIMITS.longestValue} characters` : undefined
  }

  #readAttributes(): Attributes {
    const attributes: Record<string, string> = {}
    for (const [name, index] of this.#attributes) {
      const value = this.#form.value(index)
      if (value !== '' && value !== '-') attributes[name] = value
    }
    return attributes
  }

  /** Lines with the same request have the same route, and most requests of a log are alike. */
  #routeOf(): string {
    if (this.#route.length > 0) return this.#first(this.#route)
    const source = this.#sourceOfRoute()
    if (source === undefined || source.length > LONGEST_KEPT) return this.#makeRoute()
    const known = this.#routes.get(source)
    if (known !== undefined) return known
    const route = this.#makeRoute()
    if (this.#routes.size >= MOST_ROUTES) this.#routes.clear()
    this.#routes.set(detached(source), route)
    return route
  }

  /** Returns the text that alone determines the route; undefined if it is made of several. */
  #sourceOfRoute(): string | undefined {
    if (this.#routeColumn !== undefined) return this.#form.value(this.#routeColumn)
    return this.#method.length + this.#host.length > 0 ? undefined : this.#first(this.#path)
  }

  #makeRoute(): string {
    const target = this.#first(this.#path)
    if (target === '') return ''
    // plainPath takes one character for each byte.
    const path = plainPath(Buffer.from(target).toString('latin1'), { fold: this.#fold })
    if (this.#method.length === 0 && this.#host.length === 0) return path
    const method = this.#method.length === 0 ? '' : `${(this.#first(this.#method) || 'GET').toUpperCase()} `
    return `${method}${this.#first(this.#host).toLowerCase()}${path}`
  }

  /** Returns the first of the fields that the line has; an empty text if there is none. Servers write a missing field as `-`. */
  #first(indexes: readonly number[]): string {
    for (const index of indexes) {
      const value = this.#form.value(index)
      if (value !== '' && value !== '-') return value
    }
    return ''
  }
}

/** Copies a text. A part of a large text would keep all of it in memory. */
export function detached(text: string): string {
  return Buffer.from(text).toString()
}

/** Returns whole units of at least 1; undefined if the text is no number. A missing cost is 1. */
function costOf(text: string): number | undefined {
  if (text === '') return 1
  const cost = Math.ceil(Number(text))
  return Number.isSafeInteger(cost) && text.trim() !== '' ? Math.max(1, cost) : undefined
}

function short(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}
