// Clients to let through or to keep out, by the network they are in or by the key they count under.

import { SluiceError, show } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import { type CidrList, cidrList } from '../http/cidr-list.ts'
import type { Visit } from './visit.ts'

export interface Clients {
  /** Networks such as `10.0.0.0/8`, or single addresses. */
  readonly addresses?: readonly string[]
  readonly keys?: readonly string[]
}

const OPTIONS = ['addresses', 'keys'] as const

export class ClientList {
  readonly #networks: CidrList | undefined
  readonly #keys: ReadonlySet<string> | undefined

  constructor(name: string, clients: Clients) {
    checkOptions(name, clients, OPTIONS)
    const { addresses, keys } = clients
    if (keys !== undefined && !(Array.isArray(keys) && keys.every((key) => typeof key === 'string'))) {
      throw new SluiceError('ERR_OPTION', `${name} needs keys to be a list of strings, got ${show(keys)}`)
    }
    this.#networks = addresses === undefined ? undefined : cidrList(addresses)
    this.#keys = keys === undefined ? undefined : new Set(keys)
  }

  hasAddress(visit: Visit<unknown>): boolean {
    return this.#networks?.has(visit.address) ?? false
  }

  hasKey(key: string): boolean {
    return this.#keys?.has(key) ?? false
  }
}
