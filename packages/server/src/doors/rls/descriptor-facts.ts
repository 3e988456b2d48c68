// Turns a descriptor into the facts of a request. `policies/envoy/descriptor-names.ts` has the names.
// Invariant: a value of any length is accepted. Clients choose values, and an error could let a request pass without a limit.

import { ServerError } from '../../errors.ts'
import { attributeNames, DOMAIN, joined, routeOf } from '../../policies/envoy/descriptor-names.ts'
import type { RequestFacts } from '../../policies/request-facts.ts'
import { shortClientId } from '../short-client-id.ts'
import type { Entry } from './protocol.ts'

/** With the domain these are 16 attributes. */
export const MOST_ENTRIES = 15

/** Operators write keys, in the configuration of a proxy. */
export const LONGEST_KEY = 256

/** Maximum number of routes whose attribute names are known. Above it all are forgotten, and read again. */
const MOST_ROUTES = 1000

export class DescriptorFacts {
  /** Names of the attributes, by route. They depend only on the keys, which are the same for many requests. */
  readonly #names = new Map<string, readonly string[]>()

  /** Throws ERR_INPUT. `at` is the place of the descriptor in the request. */
  of(domain: string, entries: readonly Entry[], at: string): RequestFacts {
    const keys = entries.map(({ key }) => key)
    const route = routeOf(domain, keys)
    const names = this.#names.get(route) ?? this.#read(route, keys, at)
    const attributes: Record<string, string> = { [DOMAIN]: domain }
    for (let i = 0; i < names.length; i++) attributes[names[i]] = shortClientId(entries[i].value)
    return { clientId: shortClientId(joined(entries.map(({ value }) => value))), route, attributes }
  }

  #read(route: string, keys: readonly string[], at: string): readonly string[] {
    checkKeys(keys, at)
    const names = attributeNames(keys)
    if (this.#names.size >= MOST_ROUTES) this.#names.clear()
    this.#names.set(route, names)
    return names
  }
}

function checkKeys(keys: readonly string[], at: string): void {
  if (keys.length === 0) throw new ServerError('ERR_INPUT', `${at} has no entries`)
  if (keys.length > MOST_ENTRIES) {
    throw new ServerError('ERR_INPUT', `${at} has ${keys.length} entries: at most ${MOST_ENTRIES} are allowed`)
  }
  keys.forEach((key, i) => {
    if (key !== '' && key.length <= LONGEST_KEY) return
    throw new ServerError('ERR_INPUT', `${at}.entries[${i}].key must have 1 to ${LONGEST_KEY} characters`)
  })
}
