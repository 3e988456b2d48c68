// Polls count records in a SQL database: few of them every time, many of them once a minute.

import { expect, onTestFinished, test, vi } from 'vitest'
import { SqliteTestDatabase } from '../../../test/databases/sqlite-database.ts'
import { SharedRecords } from '../records/shared-records.ts'
import { SqliteDriver } from '../sqlite/sqlite-driver.ts'
import { SqliteFile } from '../sqlite/sqlite-file.ts'
import { SqlDatabase } from './sql-database.ts'
import type { SqlDriver } from './sql-program.ts'

/** An instance, and the number of statements that have counted records. */
async function counted(policies: number) {
  const database = await SqliteTestDatabase.start()
  onTestFinished(() => database.stop())
  const file = await SqliteFile.open(database.path)
  onTestFinished(() => file.close())
  const driver = new SqliteDriver(file)
  let counts = 0
  const spied = Object.create(driver, {
    transact: {
      value: ((access, program) =>
        driver.transact(access, function* spy() {
          const run = program()
          let step = run.next()
          while (!step.done) {
            if (step.value.text.includes('count(*)')) counts += 1
            step = run.next(yield step.value)
          }
          return step.value
        })) satisfies SqlDriver['transact'],
    },
    troubleOf: { value: (error: unknown) => driver.troubleOf(error) },
  }) as SqlDriver
  const records = new SharedRecords({ database: new SqlDatabase(spied) })
  onTestFinished(() => records.close())
  await records.poll()
  await records.commit(Array.from({ length: policies }, (_, n) => ({ kind: 'policy', id: `p${n}`, value: n })))
  await records.poll()
  counts = 0
  return { database, records, counts: () => counts }
}

test('few records are counted by every poll, so that a deleted one is missed at once', async () => {
  const { database, records, counts } = await counted(10_000)
  for (let i = 0; i < 3; i++) await records.poll()
  expect(counts()).toBe(3)
  await database.removeRecord('policy', 'p5')
  await records.poll()
  expect(records.loss).toBeDefined()
})

test('many records are counted once a minute', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { database, records, counts } = await counted(10_001)
  await database.removeRecord('policy', 'p5')
  for (let i = 0; i < 3; i++) await records.poll()
  expect([counts(), records.loss]).toEqual([0, undefined])
  vi.advanceTimersByTime(60_000)
  await records.poll()
  expect(records.loss).toBeDefined()
})
