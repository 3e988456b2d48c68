// The origin of a request: a page of this service, a page of another site, or no page.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

const READS = new Set(['GET', 'HEAD'])

/** True if a page of this service sent the request, according to the browser. Without such information only reading is allowed. */
export function isSameOrigin({ method = '', headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || (site === 'none' && READS.has(method))
  if (headers.origin === undefined) return READS.has(method)
  return isOwnOrigin(headers)
}

/** True if a page of another site sent the request, according to the browser. Programs send no such headers. */
export function isFromOtherSite(headers: Pick<IncomingHttpHeaders, 'sec-fetch-site' | 'origin' | 'host'>): boolean {
  const { 'sec-fetch-site': site, origin } = headers
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && !isOwnOrigin(headers)
}

function isOwnOrigin({ origin = '', host }: Pick<IncomingHttpHeaders, 'origin' | 'host'>): boolean {
  return URL.canParse(origin) && new URL(origin).host === host
}
