// Route of a request that a proxy asks about.
// Invariant: different spellings of one path give one route.

import type { IncomingHttpHeaders } from 'node:http'
import { type PathFold, plainPath } from 'sluice/http'
import { LIMITS } from '../../../contract/limits.ts'

/** A property of the request that may precede the path in a route. */
export type RoutePrefix = 'method' | 'host'

export interface RouteForm {
  readonly prefixes: readonly RoutePrefix[]
  /** Differences in spelling to ignore. */
  readonly fold: readonly PathFold[]
}

/** Returns undefined if the proxy does not send the path. */
export function forwardedRoute(headers: IncomingHttpHeaders, { prefixes, fold }: RouteForm): string | undefined {
  const uri = one(headers['x-forwarded-uri'] ?? headers['x-original-uri'])
  if (uri === undefined) return undefined
  const method = prefixes.includes('method')
    ? `${(one(headers['x-forwarded-method'] ?? headers['x-original-method']) ?? 'GET').toUpperCase()} `
    : ''
  const host = prefixes.includes('host') ? (one(headers['x-forwarded-host']) ?? '').toLowerCase() : ''
  return `${method}${host}${plainPath(uri, { fold })}`.slice(0, LIMITS.longestRoute)
}

function one(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0]
}
