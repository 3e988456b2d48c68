// The route of a request that a proxy asks about.
// Invariant: two spellings of one path are one route.

import type { IncomingHttpHeaders } from 'node:http'
import { type PathFold, plainPath } from 'sluice/http'
import { LONGEST_ROUTE } from './schemas.ts'

/** What may stand before the path in a route. */
export type RoutePart = 'method' | 'host'

export interface RouteForm {
  readonly parts: readonly RoutePart[]
  /** Spellings of the path that are taken for one. */
  readonly fold: readonly PathFold[]
}

/** The route of the forwarded request; undefined if the proxy does not tell its path. */
export function forwardedRoute(headers: IncomingHttpHeaders, { parts, fold }: RouteForm): string | undefined {
  const uri = one(headers['x-forwarded-uri'] ?? headers['x-original-uri'])
  if (uri === undefined) return undefined
  const method = parts.includes('method')
    ? `${(one(headers['x-forwarded-method'] ?? headers['x-original-method']) ?? 'GET').toUpperCase()} `
    : ''
  const host = parts.includes('host') ? (one(headers['x-forwarded-host']) ?? '').toLowerCase() : ''
  return `${method}${host}${plainPath(uri, { fold })}`.slice(0, LONGEST_ROUTE)
}

function one(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0]
}
