// Queries as objects of text.
// Invariant: two texts that differ once they are decoded never become one, as they would if U+FFFD stood for bytes that are not UTF-8.

import { type ParsedUrlQuery, parse } from 'node:querystring'

/** Stands for a query that cannot be decoded. The validation refuses it, since a parser of queries must not throw. */
export const UNREADABLE_QUERY: ParsedUrlQuery = Object.freeze({})

/** Parameters that are left out could be the ones that matter. The size of the headers bounds their number. */
const ANY_COUNT = 0

export function parseQuery(query: string): ParsedUrlQuery {
  return isEncoded(query) ? parse(query, '&', '=', { maxKeys: ANY_COUNT }) : UNREADABLE_QUERY
}

const PLAIN = /^[!-$&-~]*$/

/** True if all of it is ASCII, and its escapes are UTF-8. */
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
