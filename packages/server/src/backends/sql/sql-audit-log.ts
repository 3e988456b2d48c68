// The audit logs in a SQL database, for all instances. Entries are numbered without gaps. The oldest are removed when there are too many
// or they are too old.

import { setImmediate as endOfTurn } from 'node:timers/promises'
import { type AuditLogName, type AuditPage, type AuditReadOptions, KEPT_ENTRIES } from '../../audit/audit-entry.ts'
import { AuditTrail, DAY_MS, KEEP_DAYS, type Log } from '../../audit/audit-trail.ts'
import { PageReader } from '../../audit/page-reader.ts'
import { ServerError } from '../../errors.ts'
import { show } from '../../input/near-word.ts'
import type { AuditedChange } from '../../records.ts'
import { textOf } from './record-state.ts'
import { ask, type Program, type SqlDriver, safeText } from './sql-program.ts'

const LOGS: readonly AuditLogName[] = ['changes', 'sign-ins']

const numberOf = (log: AuditLogName): number => LOGS.indexOf(log) + 1

const CURSOR = /^\d{1,15}$/

/** Both logs of the audit. */
export function sqlAuditTrail(driver: SqlDriver): AuditTrail {
  return new AuditTrail({ changes: new SqlAuditLog(driver, 'changes'), 'sign-ins': new SqlAuditLog(driver, 'sign-ins') })
}

/** Adds an entry with the current time. Precondition: the transaction excludes other writers. */
export function* addEntry(log: AuditLogName, entry: AuditedChange, nowMs: string): Program<void> {
  const kind = numberOf(log)
  const [row] = yield* ask(`SELECT max(number) AS last, ${nowMs} AS now FROM sluice_audit WHERE log = ?`, kind)
  const number = Number(row.last ?? 0) + 1
  const written = JSON.stringify({ time: new Date().toISOString(), ...entry })
  const values = [kind, number, Number(row.now), safeText(entry.target), written]
  yield* ask('INSERT INTO sluice_audit (log, number, at_ms, target, entry) VALUES (?, ?, ?, ?, ?)', ...values)
  yield* ask('DELETE FROM sluice_audit WHERE log = ? AND number <= ?', kind, number - KEPT_ENTRIES[log])
  // The database's clock decides. An instance whose clock is ahead must not remove entries too early.
  yield* ask('DELETE FROM sluice_audit WHERE log = ? AND at_ms < ?', kind, Number(row.now) - KEEP_DAYS[log] * DAY_MS)
}

export class SqlAuditLog implements Log {
  readonly #driver: SqlDriver
  readonly #log: AuditLogName

  constructor(driver: SqlDriver, log: AuditLogName) {
    this.#driver = driver
    this.#log = log
  }

  append(entry: AuditedChange): Promise<void> {
    return this.#driver.transact('write', () => addEntry(this.#log, entry, this.#driver.nowMs))
  }

  async read(options: AuditReadOptions = {}): Promise<AuditPage> {
    const { before, target } = options
    if (before !== undefined && !CURSOR.test(before)) {
      throw new ServerError('ERR_INPUT', `before must be the next of a page, got ${show(before)}`)
    }
    const reader = new PageReader(options)
    const { atOnce } = reader
    for (;;) {
      const rows = await this.#before(Number(reader.next ?? Number.MAX_SAFE_INTEGER), target, atOnce)
      for (const { number, entry } of rows) {
        if (reader.isFull) return reader.page(false)
        reader.look(textOf(number), textOf(entry))
      }
      if (rows.length < atOnce) return reader.page(true)
      // SQLite answers at once. Other requests must not wait for all entries.
      await endOfTurn()
    }
  }

  #before(number: number, target: string | undefined, count: number) {
    return this.#driver.transact('read', () =>
      ask(
        `SELECT number, entry FROM sluice_audit WHERE log = ? AND number < ? ${target === undefined ? '' : 'AND target = ?'}
          ORDER BY number DESC LIMIT ?`,
        numberOf(this.#log),
        number,
        ...(target === undefined ? [] : [safeText(target)]),
        count,
      ),
    )
  }

  /** Nothing to close: the connection belongs to the service. */
  async close(): Promise<void> {}
}
