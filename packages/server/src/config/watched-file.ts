// Reloads the policies of the configuration file when the file changes.
// Invariant: policies change all at once or not at all, and a file with a problem changes nothing.
// The file is polled instead of watched. Polling works on every file system, through links, and when an editor replaces the file.

import { messageOf } from '../errors.ts'
import type { PolicyBook } from '../policies/policy-book.ts'
import { type ConfigFile, readConfigFile, stampOf } from './config-file.ts'

/** A changed file is read once it has been unchanged between two polls: half a second at most. */
const POLL_EVERY_MS = 250

export type FileEvent =
  /** The policies of the file are in force. */
  | {
      readonly kind: 'taken'
      readonly policies: number
      readonly hidden: readonly string[]
      readonly needRestart: readonly string[]
    }
  /** The file is not used. The previous policies stay in force. */
  | { readonly kind: 'refused'; readonly message: string }

export interface WatchedFileOptions {
  /** The file that the service was started with. */
  readonly file: ConfigFile
  readonly book: PolicyBook
  readonly onEvent: (event: FileEvent) => void
}

export class WatchedFile {
  readonly #options: WatchedFileOptions
  #timer: NodeJS.Timeout | undefined
  /** The file's stamp (see `stampOf`) at the last read and at the last poll. */
  #readStamp: string
  #seenStamp: string
  #polling: Promise<void> = Promise.resolve()

  constructor(options: WatchedFileOptions) {
    this.#options = options
    this.#readStamp = options.file.stamp
    this.#seenStamp = options.file.stamp
  }

  /** Puts the policies of the file in force and starts polling. */
  start(): void {
    const { file, book } = this.#options
    book.replaceFilePolicies(file.policies)
    this.#timer = setInterval(() => this.poll(), POLL_EVERY_MS)
    this.#timer.unref()
  }

  /** Reads the file if it has changed since the last read and is unchanged since the last poll. */
  poll(): Promise<void> {
    this.#polling = this.#polling.then(async () => {
      const stamp = await stampOf(this.#options.file.path)
      const isAtRest = stamp === this.#seenStamp
      this.#seenStamp = stamp
      if (isAtRest && stamp !== this.#readStamp) await this.#read()
    })
    return this.#polling
  }

  /** Reads the file now. */
  reload(): Promise<void> {
    this.#polling = this.#polling.then(() => this.#read())
    return this.#polling
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#polling
  }

  async #read(): Promise<void> {
    const { file, book, onEvent } = this.#options
    this.#readStamp = await stampOf(file.path)
    let event: FileEvent
    try {
      const { policies, options } = await readConfigFile(file.path)
      book.replaceFilePolicies(policies)
      const hidden = book.hidden.map(({ name }) => name)
      event = { kind: 'taken', policies: policies.length, hidden, needRestart: differences(file.options, options) }
    } catch (error) {
      event = { kind: 'refused', message: messageOf(error) }
    }
    onEvent(event)
  }
}

/** Returns the options whose values differ from those at the start of the service. */
function differences(then: ConfigFile['options'], now: ConfigFile['options']): string[] {
  const names = new Set([...Object.keys(then), ...Object.keys(now)] as (keyof typeof then)[])
  return [...names].filter((name) => JSON.stringify(then[name]) !== JSON.stringify(now[name]))
}
