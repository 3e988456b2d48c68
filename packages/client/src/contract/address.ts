// The method and address of a request to an operation.

import { type OperationId, type Operations, ROUTES } from './operations.ts'

/** Everything that an operation takes. Parts whose fields are all optional may be left out. */
export type RequestOf<Id extends OperationId> = Partial<Omit<Operations[Id], 'data'>>

/** The `data` of an operation's answer. */
export type DataOf<Id extends OperationId> = Operations[Id]['data']

export interface Address {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Path and query. */
  readonly path: string
}

/** Returns method and address. Values of the path are encoded, and query parameters without a value are left out. */
export function addressOf<Id extends OperationId>(id: Id, request: RequestOf<Id> = {}): Address {
  const { path = {}, query = {} } = request as Readonly<Record<string, Readonly<Record<string, string | number | undefined>>>>
  const [method, pattern] = ROUTES[id]
  const filled = pattern.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''))
  const given = Object.entries(query).filter((entry) => entry[1] !== undefined)
  return { method, path: given.length === 0 ? filled : `${filled}?${new URLSearchParams(given as [string, string][])}` }
}
