// Parses query strings.
// Invariant: two different queries never decode to the same text. Replacing invalid UTF-8 by U+FFFD would break this.

import { type ParsedUrlQuery, parse } from 'node:querystring'

/** Stands for a query that cannot be decoded. Validation refuses it, since Fastify's query parser must not throw. */
export const UNREADABLE_QUERY: ParsedUrlQuery = Object.freeze({})

/** No bound by count: dropping parameters could change the meaning. The size of the headers bounds them. */
const ANY_COUNT = 0

export function parseQuery(query: string): ParsedUrlQuery {
  return isEncoded(query) ? parse(query, '&', '=', { maxKeys: ANY_COUNT }) : UNREADABLE_QUERY
}

const PLAIN = /^[!-$&-~]*$/

/** True if the query is ASCII and its escapes are UTF-8. */
function isEncoded(query: string): boolean {
  if (PLAIN.test(query)) return true
  if (!/^[!-~]*$/.test(query)) return false
  try {
    decodeURIComponent(query)
    return true
  } catch {
    return false
  }
}
