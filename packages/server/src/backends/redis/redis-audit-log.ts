// One audit log in Redis for all instances: a stream. The oldest entries are removed when there are too many or they are too old. The
// entry of a change of records is added by its commit; see records-programs.ts.

import type { SendCommand } from 'sluice/redis'
import { type AuditLogName, type AuditPage, type AuditReadOptions, KEPT_ENTRIES } from '../../audit/audit-entry.ts'
import { AuditTrail, DAY_MS, KEEP_DAYS } from '../../audit/audit-trail.ts'
import { PageReader } from '../../audit/page-reader.ts'
import { messageOf, ServerError } from '../../errors.ts'
import { show } from '../../input/near-word.ts'
import type { AuditedChange } from '../../records.ts'
import { CHANGES_LOG } from './records-programs.ts'

const STREAMS: Readonly<Record<AuditLogName, string>> = {
  changes: CHANGES_LOG,
  'sign-ins': 'sluice:{records}:audit-sign-ins',
}

const CURSOR = /^\d{1,15}-\d{1,15}$/

type StreamEntry = readonly [id: string, fields: readonly [name: string, value: string]]

/** Returns the text of an entry with the current time. */
export function writtenEntry(entry: AuditedChange): string {
  return JSON.stringify({ time: new Date().toISOString(), ...entry })
}

/** Both logs of the audit in Redis. */
export function redisAuditTrail(send: SendCommand): AuditTrail {
  return new AuditTrail({ changes: new RedisAuditLog(send, 'changes'), 'sign-ins': new RedisAuditLog(send, 'sign-ins') })
}

export class RedisAuditLog {
  readonly #send: SendCommand
  readonly #log: AuditLogName

  constructor(send: SendCommand, log: AuditLogName) {
    this.#send = send
    this.#log = log
  }

  /** Adds an entry with the current time. Resolves when Redis has it. */
  async append(entry: AuditedChange): Promise<void> {
    const id = await this.#ask('XADD', 'MAXLEN', '~', String(KEPT_ENTRIES[this.#log]), '*', 'entry', writtenEntry(entry))
    // The id contains the time of Redis' clock. An instance whose clock is ahead must not remove entries too early.
    const oldestMs = Math.max(0, Number.parseInt(String(id), 10) - KEEP_DAYS[this.#log] * DAY_MS)
    // The entry is already stored, so a failure is ignored. Redis removes whole nodes; the rest is removed with a later entry.
    await this.#ask('XTRIM', 'MINID', '~', `${oldestMs}-0`).catch(() => {})
  }

  async read(options: AuditReadOptions = {}): Promise<AuditPage> {
    const { before } = options
    if (before !== undefined && !CURSOR.test(before)) {
      throw new ServerError('ERR_INPUT', `before must be the next of a page, got ${show(before)}`)
    }
    const reader = new PageReader(options)
    const { atOnce } = reader
    for (;;) {
      const found = await this.#before(reader.next, atOnce)
      for (const [id, [, written]] of found) {
        if (reader.isFull) return reader.page(false)
        reader.look(id, written)
      }
      if (found.length < atOnce) return reader.page(true)
    }
  }

  #before(id: string | undefined, count: number): Promise<readonly StreamEntry[]> {
    const newest = id === undefined ? '+' : `(${id}`
    return this.#ask('XREVRANGE', newest, '-', 'COUNT', String(count)) as Promise<readonly StreamEntry[]>
  }

  /** Nothing to close: the connection belongs to the service. */
  async close(): Promise<void> {}

  async #ask(command: string, ...args: string[]): Promise<unknown> {
    const stream = STREAMS[this.#log]
    try {
      return await this.#send(stream, [command, stream, ...args])
    } catch (error) {
      throw new ServerError('ERR_DATA_WRITE', `the audit log in Redis could not be used: ${messageOf(error)}`, { cause: error })
    }
  }
}
