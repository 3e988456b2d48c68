// The client of one server. It opens a connection with the first command, and a new one after the last has ended.
// Invariants: there is at most one connection. After failures in a row, commands are refused at once until a connection is open, so
// that nobody waits for a server that is away.

import type { TimerClock } from '../../core/clock.ts'
import type { SluiceError } from '../../core/errors.ts'
import { messageOf, storeError } from '../../engines/store-errors.ts'
import { Connection, type ConnectionOptions, type End } from './connection.ts'

export interface ServerClientOptions extends Omit<ConnectionOptions, 'onEnd'> {
  readonly clock: TimerClock
  /** Returns a number from 0 up to 1, which spreads the pauses before new connections. */
  random(): number
}

/** Pauses after failed connections double from the first to the longest. Half of each is random. */
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 320

export class ServerClient {
  readonly #options: ServerClientOptions
  #connection: Connection | undefined
  /** Number of connections in a row that ended without any answer, or by silence. */
  #failures = 0
  #lastEnd: End | undefined
  #cancelPause: (() => void) | undefined
  /** True if a command was refused since the last connection was opened. */
  #isWanted = false
  #isClosed = false

  constructor(options: ServerClientOptions) {
    this.#options = options
  }

  get name(): string {
    return this.#options.server
  }

  /** True if this connection is still in use. */
  uses(connection: Connection): boolean {
    return this.#connection === connection
  }

  close(): void {
    this.#isClosed = true
    this.#cancelPause?.()
    this.#connection?.end({ kind: 'refused', reason: 'the store is closed' })
  }

  /** Returns a connection that takes commands. Throws if there is none now. */
  connected(): Connection {
    if (this.#isClosed) throw storeError('refused', `${this.name}: the store is closed`)
    if (this.#connection === undefined && this.#cancelPause === undefined) this.#connect()
    const connection = this.#connection
    if (connection !== undefined && (this.#failures === 0 || connection.isOpen)) return connection
    this.#isWanted = true
    throw this.#awayError()
  }

  #connect(): void {
    this.#isWanted = false
    try {
      this.#connection = new Connection({ ...this.#options, onEnd: (end) => this.#onEnd(end) })
    } catch (error) {
      // Options of TLS that Node refuses.
      this.#onEnd({ kind: 'fatal', reason: messageOf(error), wasUseful: false })
    }
  }

  #onEnd(end: End): void {
    this.#connection = undefined
    this.#lastEnd = end
    if (end.wasUseful) {
      this.#failures = 0
      return
    }
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, LONGEST_PAUSE_MS)
    this.#failures += 1
    if (this.#isClosed) return
    const randomMs = Math.floor((this.#options.random() * pauseMs) / 2)
    this.#cancelPause = this.#options.clock.after(pauseMs / 2 + randomMs, () => {
      this.#cancelPause = undefined
      if (this.#isWanted) this.#connect()
    })
  }

  #awayError(): SluiceError {
    const { kind, reason } = this.#lastEnd as End
    return storeError(kind, `${this.name}: ${reason}`)
  }
}
