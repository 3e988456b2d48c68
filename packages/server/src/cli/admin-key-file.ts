// A file that holds the admin key of the first start, for whoever set the service up.
// What must stay true: only its owner can read it.

import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { createClient } from '../client/client.ts'
import type { Key } from './welcome.ts'

const LOOK_MS = 2000

export class AdminKeyFile {
  readonly #path: string
  readonly #showKey: boolean

  constructor(path: string, showKey: boolean) {
    this.#path = resolve(path)
    this.#showKey = showKey
  }

  write(secret: string): Key {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
    const fresh = `${this.#path}.new`
    writeFileSync(fresh, `${secret}\n`, { mode: 0o600 })
    chmodSync(fresh, 0o600)
    renameSync(fresh, this.#path)
    return this.#key(secret)
  }

  /** The key that is in the file, if it works at this address. */
  async look(address: string): Promise<Key | undefined> {
    let secret: string
    try {
      secret = readFileSync(this.#path, 'utf8').trim()
    } catch {
      return undefined
    }
    const client = createClient({ url: address, apiKey: secret, timeoutMs: LOOK_MS })
    try {
      await client.policies.list({ limit: 1 })
      return this.#key(secret)
    } catch {
      return undefined
    } finally {
      client.close()
    }
  }

  #key(secret: string): Key {
    return { kind: 'kept', path: this.#path, ...(this.#showKey && { secret }) }
  }
}
