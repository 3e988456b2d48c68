// What a proxy says about the request that it asks for: whom it is from and what it asks for.
// What must stay true: spelling one path in another way does not make another route of it.

import type { IncomingHttpHeaders } from 'node:http'
import { headerText } from './header-text.ts'
import { LONGEST_ROUTE } from './schemas.ts'

/** What may stand before the path in a route. */
export type RoutePart = 'method' | 'host'

/** The route of the forwarded request; undefined if the proxy does not tell its path. */
export function forwardedRoute(headers: IncomingHttpHeaders, parts: readonly RoutePart[]): string | undefined {
  const uri = one(headers['x-forwarded-uri'] ?? headers['x-original-uri'])
  if (uri === undefined) return undefined
  const method = parts.includes('method')
    ? `${(one(headers['x-forwarded-method'] ?? headers['x-original-method']) ?? 'GET').toUpperCase()} `
    : ''
  const host = parts.includes('host') ? (one(headers['x-forwarded-host']) ?? '').toLowerCase() : ''
  return `${method}${host}${plainPath(uri)}`.slice(0, LONGEST_ROUTE)
}

/** The path of a URI without its query, in one spelling: dots resolved, slashes single, nothing escaped that need not be. */
export function plainPath(uri: string): string {
  const path = /^[^?#]*/.exec(headerText(uri))?.[0] ?? ''
  const absolute = /^[a-z][a-z0-9+.-]*:\/\/[^/]*/i.exec(path)?.[0] ?? ''
  const slashed = `/${path.slice(absolute.length)}`.replace(/\/{2,}/g, '/')
  try {
    // WHATWG's parser resolves dots, also escaped ones, and escapes what must be.
    const { pathname } = new URL(`http://host${slashed}`)
    return pathname.replace(/\/{2,}/g, '/').replace(/%[0-9a-f]{2}/gi, unescapePlain)
  } catch {
    return slashed
  }
}

function unescapePlain(escaped: string): string {
  const sign = String.fromCharCode(Number.parseInt(escaped.slice(1), 16))
  return /[A-Za-z0-9._~-]/.test(sign) ? sign : escaped.toUpperCase()
}

function one(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0]
}
