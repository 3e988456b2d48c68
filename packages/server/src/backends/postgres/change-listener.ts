// Listens for changes of other instances on a connection of its own. Polling finds every change too, so a lost message delays a change
// by half a second at most.
// Invariant: it tries to connect until it is closed.

import { setTimeout as pause } from 'node:timers/promises'
import { Client, type ClientConfig } from 'pg'
import { cutLater } from './end-connection.ts'
import { CHANNEL } from './postgres-driver.ts'

/** Pauses between attempts to connect: short at first, then up to five seconds, with jitter. */
const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 5000

export interface ChangeListenerOptions {
  readonly config: ClientConfig
  /** Called for each message, and after each connection is made, because messages may have been missed. */
  readonly onChange: () => void
}

export class ChangeListener {
  readonly #options: ChangeListenerOptions
  readonly #closing = new AbortController()
  #client: Client | undefined
  #done: Promise<void> = Promise.resolve()

  constructor(options: ChangeListenerOptions) {
    this.#options = options
  }

  start(): void {
    this.#done = this.#follow()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    if (this.#client !== undefined) end(this.#client)
    await this.#done
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing
    for (let failures = 0; !signal.aborted; failures++) {
      if (await this.#listen()) failures = 0
      const most = Math.min(FIRST_RETRY_MS * 2 ** Math.min(failures, 10), LONGEST_RETRY_MS)
      await pause(most * (0.5 + Math.random() / 2), undefined, { ref: false, signal }).catch(() => {})
    }
  }

  /** Resolves when the connection has ended: to true if it was made. A failure to connect is reported by the polls. */
  async #listen(): Promise<boolean> {
    const client = new Client(this.#options.config)
    this.#client = client
    let isMade = false
    const ended = new Promise<void>((resolve) => {
      client.on('end', resolve)
    })
    client.on('error', () => end(client))
    client.on('notification', () => this.#options.onChange())
    try {
      await client.connect()
      await client.query(`LISTEN ${CHANNEL}`)
      isMade = true
      this.#options.onChange()
      if (this.#closing.signal.aborted) end(client)
      await ended
    } catch {
      end(client)
    }
    this.#client = undefined
    return isMade
  }
}

function end(client: Client): void {
  client.end().catch(() => {})
  cutLater([client])
}
