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

/** Paths that `plainPath` returns as they are: no query, no escape, no empty segment and none that begins with a dot. */
const PLAIN = /^\/$|^(?:\/[A-Za-z0-9!$&'()*+,\-:;=@[\]_|~][A-Za-z0-9!$&'()*+,\-.:;=@[\]_|~]*)+\/?$/

/** Maximum number of paths whose plain form is kept. */
const MOST_PATHS = 20_000

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
  readonly #plainPaths = new Map<string, string>()

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
    if (this.#attributes.length > 0) entry.attributes = this.#readAttributes()
    return undefined
  }

  #readAttributes(): Attributes {
    const attributes: Record<string, string> = {}
    for (const [name, index] of this.#attributes) {
      const value = this.#form.value(index)
      if (value !== '' && value !== '-') attributes[name] = value
    }
    return attributes
  }

  #routeOf(): string {
    if (this.#route.length > 0) return this.#first(this.#route)
    const target = this.#first(this.#path)
    if (target === '') return ''
    const path = this.#plain(target)
    if (this.#method.length === 0 && this.#host.length === 0) return path
    const method = this.#method.length === 0 ? '' : `${(this.#first(this.#method) || 'GET').toUpperCase()} `
    return `${method}${this.#first(this.#host).toLowerCase()}${path}`
  }

  #plain(target: string): string {
    const query = target.indexOf('?')
    const path = query < 0 ? target : target.slice(0, query)
    if (this.#fold.length === 0 && PLAIN.test(path)) return path
    const known = this.#plainPaths.get(path)
    if (known !== undefined) return known
    // plainPath takes one character for each byte.
    const plain = plainPath(Buffer.from(path).toString('latin1'), { fold: this.#fold })
    if (this.#plainPaths.size >= MOST_PATHS) this.#plainPaths.clear()
    this.#plainPaths.set(detached(path), plain)
    return plain
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
