// The bounds of the audit logs in a SQL database.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { SqlRecords } from '../../../test/databases/sql-records.ts'
import { DATABASE_NAMES, openConnected, TEST_DATABASES, type TestDatabase } from '../../../test/databases/test-database.ts'
import { KEPT_ENTRIES } from '../../audit/audit-entry.ts'
import { DAY_MS, KEEP_DAYS } from '../../audit/audit-trail.ts'

const LOGS = [
  ['changes', 1, 'policy.put'],
  ['sign-ins', 2, 'session.start'],
] as const

describe.each(DATABASE_NAMES.filter((name) => name !== 'redis'))('%s', (name) => {
  let database: TestDatabase & SqlRecords

  beforeAll(async () => {
    const started = await TEST_DATABASES[name]()
    if (!(started instanceof SqlRecords)) throw new Error('a SQL database is expected')
    database = started
  })
  beforeEach(() => database.clear())
  afterAll(() => database.stop())

  test.each(LOGS)(
    '%s: the oldest entry goes when the maximum is reached, and the other log is not touched',
    async (of, log, action) => {
      const { audit } = await openConnected(database)
      const other = LOGS.find(([, number]) => number !== log)?.[2] as string
      await audit.append({ actor: 'k1', action: other, target: 'other' })
      const most = KEPT_ENTRIES[of]
      const nowMs = Date.now()
      await database.run(
        `INSERT INTO sluice_audit (log, number, at_ms, target, entry) VALUES (${log}, 1, ${nowMs}, 'first', '{}'), (${log}, 2, ${nowMs}, 'second', '{}'), (${log}, ${most}, ${nowMs}, 'last', '{}')`,
      )
      await audit.append({ actor: 'k1', action, target: 'new' })
      const rows = await database.run(`SELECT target FROM sluice_audit WHERE log = ${log} ORDER BY number`)
      expect(rows.map(({ target }) => target)).toEqual(['second', 'last', 'new'])
      expect(await database.run(`SELECT target FROM sluice_audit WHERE log <> ${log}`)).toMatchObject([{ target: 'other' }])
    },
  )

  test.each(LOGS)('%s: entries that are too old go with the next one', async (of, log, action) => {
    const { audit } = await openConnected(database)
    await audit.append({ actor: 'k1', action, target: 'a' })
    const oldMs = Date.now() - KEEP_DAYS[of] * DAY_MS
    await database.run(
      `INSERT INTO sluice_audit (log, number, at_ms, target, entry) VALUES (${log}, 10, ${oldMs - 60_000}, 'old', '{}'), (${log}, 11, ${oldMs + 60_000}, 'young', '{}')`,
    )
    await audit.append({ actor: 'k1', action, target: 'b' })
    const rows = await database.run(`SELECT target FROM sluice_audit WHERE log = ${log} ORDER BY number`)
    expect(rows.map(({ target }) => target)).toEqual(['a', 'young', 'b'])
  })
})
