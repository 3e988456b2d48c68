// The configuration file while the service runs: its policies are taken over whenever it changes.
// What must stay true: policies change all at once or not at all, and a file with something wrong in it changes nothing.
// The file is looked at rather than watched: that works on every file system, through links, and when an editor replaces it.

import { messageOf } from '../errors.ts'
import type { PolicyBook } from '../policies/policy-book.ts'
import { type ConfigFile, markOf, readConfigFile } from './config-file.ts'

/** A file that changes while it is being written is read when it has been the same for one look: in half a second at most. */
const LOOK_EVERY_MS = 250

export type FileEvent =
  /** Its policies are in force. */
  | {
      readonly kind: 'taken'
      readonly policies: number
      readonly hidden: readonly string[]
      readonly needRestart: readonly string[]
    }
  /** It is not used, and what was in force stays so. */
  | { readonly kind: 'refused'; readonly message: string }

export interface WatchedFileOptions {
  /** The file as the service was started with it. */
  readonly file: ConfigFile
  readonly book: PolicyBook
  readonly onEvent: (event: FileEvent) => void
}

export class WatchedFile {
  readonly #options: WatchedFileOptions
  #timer: NodeJS.Timeout | undefined
  /** Of the file as it was last read, and as it was last seen. */
  #readMark: string
  #seenMark: string
  #looking: Promise<void> = Promise.resolve()

  constructor(options: WatchedFileOptions) {
    this.#options = options
    this.#readMark = options.file.mark
    this.#seenMark = options.file.mark
  }

  /** Puts the policies of the file in force and looks after it from now on. */
  start(): void {
    const { file, book } = this.#options
    book.replaceFilePolicies(file.policies)
    this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS)
    this.#timer.unref()
  }

  /** Reads the file if it has changed, and has not since the last look. */
  look(): Promise<void> {
    this.#looking = this.#looking.then(async () => {
      const mark = await markOf(this.#options.file.path)
      const isAtRest = mark === this.#seenMark
      this.#seenMark = mark
      if (isAtRest && mark !== this.#readMark) await this.#take()
    })
    return this.#looking
  }

  /** Reads the file now, changed or not. */
  reload(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#take())
    return this.#looking
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
  }

  async #take(): Promise<void> {
    const { file, book, onEvent } = this.#options
    this.#readMark = await markOf(file.path)
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

/** The options that are not as they were when the service started. */
function differences(then: ConfigFile['options'], now: ConfigFile['options']): string[] {
  const names = new Set([...Object.keys(then), ...Object.keys(now)] as (keyof typeof then)[])
  return [...names].filter((name) => JSON.stringify(then[name]) !== JSON.stringify(now[name]))
}
