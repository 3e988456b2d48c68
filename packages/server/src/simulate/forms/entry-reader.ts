// Reads requests from the lines of a log: the time, the client, the route, the cost and the attributes, each from the fields that a
// mapping names.
// Invariant: an entry has the limits of a check of the service. A line that breaks one is a problem, and is not decided.

import { type PathFold, plainPath } from 'sluice/http'
import { LIMITS } from '../../contract/limits.ts'
import type { Attributes } from '../../policies/request-facts.ts'
import type { FormFacts, FormOptions } from './forms.ts'
import type { LogBytes } from './log-bytes.ts'
import { LogFields } from './log-fields.ts'
import { FieldError, type LogForm } from './log-form.ts'
import { LogTimes } from './log-time.ts'
import { LONGEST_KEPT, NO_TAG, TextCache, UNKNOWN } from './text-cache.ts'

/** A request of a log. It is filled again for each line. */
export interface LogEntry {
  timeMs: number
  clientId: string
  route: string
  cost: number
  attributes: Attributes | undefined
  /** Tags of the client and of the route, if the receiver has tagged them before. */
  clientTag?: number
  routeTag?: number
  /** Takes tags of the client and the route. Undefined if the entry is not the last one that was read. */
  tagger?: EntryTagger | undefined
}

/** Makes an entry that a reader can fill. All of them have the same fields in the same order, for which V8 makes faster code. */
export function blankEntry(): LogEntry {
  return {
    timeMs: Number.NaN,
    clientId: '',
    route: '',
    cost: 1,
    attributes: undefined,
    clientTag: NO_TAG,
    routeTag: NO_TAG,
    tagger: undefined,
  }
}

/** Remembers numbers of the receiver for the texts of the last entry, so that it need not look them up again. */
export interface EntryTagger {
  tagClient(tag: number): void
  tagRoute(tag: number): void
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

/** Maximum number of texts of each kind that are kept. */
const MOST_CLIENTS = 131_072
const MOST_ROUTES = 20_000
const MOST_OTHERS = 1024

export class EntryReader implements EntryTagger {
  readonly form: FormFacts
  readonly #form: LogForm
  readonly #client: LogFields
  readonly #time: LogFields
  readonly #method: LogFields
  readonly #path: LogFields
  readonly #host: LogFields
  readonly #route: LogFields
  readonly #cost: LogFields
  readonly #attributes: readonly (readonly [name: string, fields: LogFields])[]
  readonly #fold: readonly PathFold[]
  readonly #times = new LogTimes()
  /** The column that alone determines the time, or the route; −1 if there is none. */
  readonly #timeColumn: number
  readonly #routeColumn: number
  /** The time of the last line, and the version of its column. */
  #lastMs = Number.NaN
  #timeVersion = 0
  /** Routes by the bytes of the column. */
  readonly #knownRoutes = new TextCache(MOST_ROUTES)
  /** Number of the last route there. */
  #routeNumber = UNKNOWN
  /** Routes by the text of the path. */
  readonly #routes = new Map<string, string>()

  /** Throws FieldError if the form lacks a field. */
  constructor(form: FormFacts, mapping: FieldMapping, options: FormOptions) {
    this.form = form
    this.#form = form.make(options)
    const { usual } = form
    const { prefixes = [], attributes = {}, fold = [] } = mapping
    const found = (names: readonly string[] = [], mostTexts = MOST_OTHERS, longest?: number): LogFields =>
      new LogFields({ form: this.#form, names, mostTexts, ...(longest !== undefined && { longest }) })
    this.#client = found(mapping.client ?? usual.client, MOST_CLIENTS, LIMITS.longestClientId)
    this.#time = found(mapping.time ?? usual.time)
    this.#route = found(mapping.route, MOST_ROUTES, LIMITS.longestRoute)
    this.#path = found(mapping.route === undefined ? (mapping.path ?? usual.path) : [])
    this.#method = found(prefixes.includes('method') ? (mapping.method ?? usual.method) : [])
    const host = mapping.host ?? usual.host
    if (prefixes.includes('host') && host.length === 0)
      throw new FieldError(`the form ${form.name} has no field for the host: name one`)
    this.#host = found(prefixes.includes('host') ? host : [])
    this.#cost = found(mapping.cost)
    this.#attributes = Object.entries(attributes).map(([name, field]) => [name, found([field])] as const)
    this.#fold = fold
    this.#timeColumn = commonColumn(this.#time.columns)
    this.#routeColumn = commonColumn([this.#path, this.#method, this.#host].flatMap(({ columns }) => columns))
  }

  /** Called at the start of each file. */
  begin(): void {
    this.#form.begin()
  }

  /** Reads a line into `entry`. Returns undefined, NO_REQUEST, or the problem. */
  read(line: LogBytes, from: number, to: number, entry: LogEntry): string | undefined {
    const problem = this.#form.parse(line, from, to)
    if (problem !== undefined) return problem
    const timeMs = this.#timeOf(line)
    if (Number.isNaN(timeMs)) {
      const written = this.#time.read(line)
      return written === null ? 'it has no time' : `its time cannot be read: ${short(written)}`
    }
    const client = this.#client
    const clientId = client.read(line)
    if (clientId === null) return 'it has no client'
    // A known text is not looked at, because it may be far away in memory.
    if (!client.isKnown && clientId.length > LIMITS.longestClientId)
      return `its client is longer than ${LIMITS.longestClientId} characters`
    const route = this.#readRoute(line, entry)
    if (route === null) return 'it has no path'
    if (entry.routeTag === NO_TAG && route.length > LIMITS.longestRoute)
      return `its route is longer than ${LIMITS.longestRoute} characters`
    entry.cost = 1
    if (this.#cost.size > 0) {
      const written = this.#cost.read(line)
      const cost = costOf(written)
      if (cost === undefined) return `its cost is no number: ${short(written ?? '')}`
      entry.cost = cost
    }
    entry.timeMs = timeMs
    entry.clientId = clientId
    entry.clientTag = client.tag
    entry.route = route
    entry.tagger = this
    if (this.#attributes.length === 0) return undefined
    entry.attributes = this.#readAttributes(line)
    const tooLong = Object.values(entry.attributes).some((value) => value.length > LIMITS.longestValue)
    return tooLong ? `it has an attribute longer than ${LIMITS.longestValue} characters` : undefined
  }

  tagClient(tag: number): void {
    this.#client.tag = tag
  }

  tagRoute(tag: number): void {
    if (this.#route.size > 0) this.#route.tag = tag
    else if (this.#routeNumber !== UNKNOWN) this.#knownRoutes.setTag(this.#routeNumber, tag)
  }

  #readAttributes(line: LogBytes): Attributes {
    const attributes: Record<string, string> = {}
    for (const [name, field] of this.#attributes) {
      const value = field.read(line)
      if (value !== null) attributes[name] = value
    }
    return attributes
  }

  /** Returns NaN if the line has no time that can be read. */
  #timeOf(line: LogBytes): number {
    const { columns } = this.#form
    const version = columns === undefined || this.#timeColumn < 0 ? 0 : columns.version(this.#timeColumn)
    if (version > 0 && version === this.#timeVersion) return this.#lastMs
    this.#lastMs = this.#times.read(this.#time.read(line) ?? '')
    this.#timeVersion = version
    return this.#lastMs
  }

  /** Returns the route and sets its tag. Lines with the same request have the same route, and most requests of a log are alike. */
  #readRoute(line: LogBytes, entry: LogEntry): string | null {
    if (this.#route.size > 0) {
      const route = this.#route.read(line)
      entry.routeTag = this.#route.tag
      return route
    }
    const { columns } = this.#form
    entry.routeTag = NO_TAG
    this.#routeNumber = UNKNOWN
    if (columns === undefined || this.#routeColumn < 0) return this.#routeOfText(line)
    const from = columns.start(this.#routeColumn)
    const to = columns.end(this.#routeColumn)
    const known = this.#knownRoutes
    const number = known.find(line, from, to)
    this.#routeNumber = number
    if (number !== UNKNOWN) {
      entry.routeTag = known.tag(number)
      return known.text(number)
    }
    const route = this.#makeRoute(line)
    this.#routeNumber = known.add(line, from, to, route)
    return route
  }

  #routeOfText(line: LogBytes): string | null {
    const path = this.#method.size + this.#host.size > 0 ? null : this.#path.read(line)
    if (path === null || path.length > LONGEST_KEPT) return this.#makeRoute(line)
    const known = this.#routes.get(path)
    if (known !== undefined) return known
    const route = this.#makeRoute(line)
    if (route === null) return null
    if (this.#routes.size >= MOST_ROUTES) this.#routes.clear()
    this.#routes.set(detached(path), route)
    return route
  }

  #makeRoute(line: LogBytes): string | null {
    const target = this.#path.read(line)
    if (target === null) return null
    // plainPath takes one character for each byte.
    const path = plainPath(Buffer.from(target).toString('latin1'), { fold: this.#fold })
    if (this.#method.size === 0 && this.#host.size === 0) return path
    const method = this.#method.size === 0 ? '' : `${(this.#method.read(line) ?? 'GET').toUpperCase()} `
    return `${method}${(this.#host.read(line) ?? '').toLowerCase()}${path}`
  }
}

/** Returns the only column of a list; −1 if there are several or none. */
function commonColumn(columns: readonly number[]): number {
  const [column, ...others] = new Set(columns)
  return column === undefined || others.length > 0 ? -1 : column
}

/** V8 copies shorter parts of a text. */
const SHORTEST_PART = 13

/** Copies a text. A part of a large text would keep all of it in memory. */
export function detached(text: string): string {
  return text.length < SHORTEST_PART ? text : Buffer.from(text).toString()
}

/** Returns whole units of at least 1; undefined if the text is no number. A missing cost is 1. */
function costOf(text: string | null): number | undefined {
  if (text === null) return 1
  const cost = Math.ceil(Number(text))
  return Number.isSafeInteger(cost) && text.trim() !== '' ? Math.max(1, cost) : undefined
}

function short(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}
