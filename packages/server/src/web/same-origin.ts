// The site of a request: a page of this service, a page of another one, or no page at all.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

const READS = new Set(['GET', 'HEAD'])

/** True if a page of this service sent it. Browsers say so; a request of which none says so may only read. */
export function isSameOrigin({ method = '', headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || (site === 'none' && READS.has(method))
  if (headers.origin === undefined) return READS.has(method)
  return isOwnOrigin(headers)
}

/** True if a browser says that a page of another site sent it. Programs say nothing, and are not from a site. */
export function isFromOtherSite(headers: Pick<IncomingHttpHeaders, 'sec-fetch-site' | 'origin' | 'host'>): boolean {
  const { 'sec-fetch-site': site, origin } = headers
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && !isOwnOrigin(headers)
}

function isOwnOrigin({ origin = '', host }: Pick<IncomingHttpHeaders, 'origin' | 'host'>): boolean {
  return URL.canParse(origin) && new URL(origin).host === host
}
