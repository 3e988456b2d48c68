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

/** The facts that all descriptors with the same domain and keys share. */
interface Shape {
  readonly domain: string
  readonly keys: readonly string[]
  readonly route: string
  /** Names of the attributes, one for each key. */
  readonly names: readonly string[]
}

export class DescriptorFacts {
  /**
   * The last shape at each place of a request. Most requests of a proxy have the same shapes in the same places. A request has a maximum
   * number of descriptors, so the number of places is bounded.
   */
  readonly #last: Shape[] = []

  /** Throws ERR_INPUT. `place` is the index of the descriptor in the request. */
  of(domain: string, entries: readonly Entry[], place: number): RequestFacts {
    const last = this.#last[place]
    const shape = last !== undefined && isOf(last, domain, entries) ? last : this.#read(domain, entries, place)
    const { route, names } = shape
    const attributes: Record<string, string> = { [DOMAIN]: domain }
    const values: string[] = []
    for (let i = 0; i < names.length; i++) {
      const { value } = entries[i]
      attributes[names[i]] = shortClientId(value)
      values.push(value)
    }
    return { clientId: shortClientId(joined(values)), route, attributes }
  }

  #read(domain: string, entries: readonly Entry[], place: number): Shape {
    const keys = entries.map(({ key }) => key)
    checkKeys(keys, nameOfPlace(place))
    const shape = { domain, keys, route: routeOf(domain, keys), names: attributeNames(keys) }
    this.#last[place] = shape
    return shape
  }
}

/** Name of the descriptor with this index, for errors. */
export function nameOfPlace(place: number): string {
  return `descriptors[${place}]`
}

function isOf({ domain, keys }: Shape, asked: string, entries: readonly Entry[]): boolean {
  if (domain !== asked || keys.length !== entries.length) return false
  for (let i = 0; i < keys.length; i++) if (keys[i] !== entries[i].key) return false
  return true
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
