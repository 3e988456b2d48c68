// The audit log in Redis, one for all instances: a stream, of which the oldest entries go when there are too many.

import type { SendCommand } from 'sluice/redis'
import { type AuditEntry, type AuditPage, type AuditReadOptions, MOST_LOOKED_AT, MOST_READ } from '../audit/audit-log.ts'
import { messageOf, ServerError } from '../errors.ts'
import { show } from '../input/near-word.ts'

const AUDIT = 'sluice:{records}:audit'

/** Some tens of megabytes. */
const KEPT_ENTRIES = 100_000

const CURSOR = /^\d{1,15}-\d{1,15}$/

type StreamEntry = readonly [id: string, fields: readonly [name: string, value: string]]

export class RedisAuditLog {
  readonly #send: SendCommand

  constructor(send: SendCommand) {
    this.#send = send
  }

  /** Adds an entry, with the time; resolves when it is safe. */
  async append(entry: Omit<AuditEntry, 'time'>): Promise<void> {
    const written = JSON.stringify({ time: new Date().toISOString(), ...entry })
    await this.#ask(['XADD', AUDIT, 'MAXLEN', '~', String(KEPT_ENTRIES), '*', 'entry', written])
  }

  async read({ before, limit = 100, target }: AuditReadOptions = {}): Promise<AuditPage> {
    if (before !== undefined && !CURSOR.test(before)) {
      throw new ServerError('ERR_INPUT', `before must be the next of a page, got ${show(before)}`)
    }
    const most = Math.min(limit, MOST_READ)
    const atOnce = target === undefined ? most + 1 : MOST_READ
    const entries: AuditEntry[] = []
    let next = before
    for (let lookedAt = 0; lookedAt < MOST_LOOKED_AT; lookedAt += atOnce) {
      const found = await this.#before(next, atOnce)
      for (const [id, [, written]] of found) {
        if (entries.length === most) return { entries, next }
        next = id
        const entry = readEntry(written)
        if (entry !== undefined && (target ?? entry.target) === entry.target) entries.push(entry)
      }
      if (found.length < atOnce) return { entries, next: undefined }
    }
    return { entries, next }
  }

  #before(id: string | undefined, count: number): Promise<readonly StreamEntry[]> {
    const newest = id === undefined ? '+' : `(${id}`
    return this.#ask(['XREVRANGE', AUDIT, newest, '-', 'COUNT', String(count)]) as Promise<readonly StreamEntry[]>
  }

  /** Nothing to close: the connection belongs to the service. */
  async close(): Promise<void> {}

  async #ask(command: readonly string[]): Promise<unknown> {
    try {
      return await this.#send(AUDIT, command)
    } catch (error) {
      throw new ServerError('ERR_DATA_WRITE', `the audit log in Redis could not be used: ${messageOf(error)}`, { cause: error })
    }
  }
}

/** Undefined if it cannot be read: one bad entry does not hide the others. */
function readEntry(written: string): AuditEntry | undefined {
  try {
    return JSON.parse(written)
  } catch {
    return undefined
  }
}
