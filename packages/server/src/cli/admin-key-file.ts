// The file for the admin key of the first start, for the person who sets up the service.
// Invariant: only its owner can read the file, and it never replaces a file that contains anything but a key.

import { accessSync, chmodSync, constants, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { createClient } from 'sluice-client/node'
import { messageOf } from '../errors.ts'
import { idOfKeyText } from '../keys/key-text.ts'
import { UsageError } from './exit-codes.ts'
import type { KeyToShow } from './welcome.ts'

const LOOK_MS = 2000

/** A longer file contains more than one key. */
const MOST_BYTES = 1024

export class AdminKeyFile {
  readonly path: string
  readonly #showKey: boolean

  constructor(path: string, showKey: boolean) {
    this.path = resolve(path)
    this.#showKey = showKey
  }

  /**
   * Throws if the key cannot or must not be written, so that no key is created that nobody can see. Creates the
   * folders above the file. An empty file, or a file with a key, may be replaced.
   */
  check(): void {
    let problem: string | undefined
    try {
      problem = this.#problem()
    } catch (error) {
      problem = `cannot be used: ${messageOf(error)}`
    }
    if (problem !== undefined) throw new UsageError(`--admin-key-file ${this.path} ${problem}`)
  }

  #problem(): string | undefined {
    const found = statSync(this.path, { throwIfNoEntry: false })
    if (found === undefined) {
      this.#makeFolders()
      accessSync(dirname(this.path), constants.W_OK)
      return undefined
    }
    if (found.isDirectory()) return 'is a folder: name a file'
    if (!found.isFile()) return 'is not a plain file: name another'
    if (found.size === 0) return undefined
    const isKey = found.size <= MOST_BYTES && idOfKeyText(readFileSync(this.path, 'utf8').trim()) !== undefined
    return isKey ? undefined : 'contains something other than an API key of Sluice: name another file, or remove it'
  }

  write(secret: string): KeyToShow {
    this.#makeFolders()
    const fresh = `${this.path}.new`
    try {
      writeFileSync(fresh, `${secret}\n`, { mode: 0o600 })
      chmodSync(fresh, 0o600)
      renameSync(fresh, this.path)
    } catch (error) {
      rmSync(fresh, { force: true })
      throw error
    }
    return this.#key(secret)
  }

  #makeFolders(): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
  }

  /** Returns the key of the file if it is valid at this address. */
  async validKey(address: string): Promise<KeyToShow | undefined> {
    let secret: string
    try {
      secret = readFileSync(this.path, 'utf8').trim()
    } catch {
      return undefined
    }
    const client = createClient({ url: address, apiKey: secret, failure: { timeoutMs: LOOK_MS } })
    try {
      await client.policies.list({ limit: 1 })
      return this.#key(secret)
    } catch {
      return undefined
    } finally {
      client.close()
    }
  }

  #key(secret: string): KeyToShow {
    return { kind: 'kept', path: this.path, ...(this.#showKey && { secret }) }
  }
}
