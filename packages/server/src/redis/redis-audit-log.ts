// The audit log in Redis, one for all instances: a stream, of which the oldest entries go when there are too many.

import type { SendCommand } from 'sluice/redis'
import type { AuditEntry, AuditPage, AuditReadOptions } from '../audit/audit-log.ts'
import { messageOf, ServerError } from '../errors.ts'
import { show } from '../input/near-word.ts'

const AUDIT = 'sluice:{records}:audit'

/** Some tens of megabytes. */
const KEPT_ENTRIES = 100_000

const MOST_READ = 1000
const CURSOR = /^\d{1,15}-\d{1,15}$/

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

  async read({ before, limit = 100 }: AuditReadOptions = {}): Promise<AuditPage> {
    if (before !== undefined && !CURSOR.test(before)) {
      throw new ServerError('ERR_INPUT', `before must be the next of a page, got ${show(before)}`)
    }
    const count = Math.min(limit, MOST_READ)
    const newest = before === undefined ? '+' : `(${before}`
    const found = (await this.#ask(['XREVRANGE', AUDIT, newest, '-', 'COUNT', String(count + 1)])) as [string, [string, string]][]
    const page = found.slice(0, count)
    const entries = page.map(([, [, written]]) => JSON.parse(written) as AuditEntry)
    return { entries, next: found.length > count ? page.at(-1)?.[0] : undefined }
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
