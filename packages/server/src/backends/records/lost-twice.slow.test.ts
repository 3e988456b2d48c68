// A database loses records again during a restore, or a part of them: no instance takes the rest for complete.

import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import {
  DATABASE_NAMES,
  openConnected,
  type Return,
  TEST_DATABASES,
  type TestDatabase,
} from '../../../test/databases/test-database.ts'
import { type Step, wrappedSteps } from '../../../test/databases/wrapped-steps.ts'
import type { Change } from '../../records.ts'
import { SharedRecords } from './shared-records.ts'

/** Number of records for a restore of three chunks. */
const POLICIES = 1500

/** Called before each run of a step, with the step and the number of its earlier runs. */
type Before = (step: Step, runs: number) => Promise<unknown> | undefined

const policy = (id: string, value: unknown): Change => ({ kind: 'policy', id, value })
const restore = (records: SharedRecords) => records.restore({ dryRun: false })
const fill = (records: SharedRecords) => records.commit(Array.from({ length: POLICIES }, (_, n) => policy(`p${n}`, n)))

describe.each(DATABASE_NAMES)('%s', (name) => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await TEST_DATABASES[name]()
  })
  beforeEach(() => database.clear())
  afterAll(() => database.stop())

  /** An instance that polls only on demand. */
  async function instance(before: Before = () => undefined): Promise<SharedRecords> {
    const opened = await openConnected(database)
    const runs = new Map<Step, number>()
    const records = new SharedRecords({
      database: wrappedSteps(opened.records, async (step, send) => {
        const count = runs.get(step) ?? 0
        runs.set(step, count + 1)
        await before(step, count)
        return send()
      }),
    })
    onTestFinished(() => records.close())
    await records.poll()
    return records
  }

  async function loseAll(...instances: SharedRecords[]): Promise<void> {
    await database.clear()
    for (const each of instances) {
      await each.poll()
      expect(each.loss).toBeDefined()
    }
  }

  /** Restores from any instance that may, until nothing is lost. Then all instances have all records. */
  async function expectAllBack(...instances: SharedRecords[]): Promise<void> {
    for (let round = 0; round < 4; round++) {
      for (const each of instances) {
        await each.poll()
        expect(each.all('policy').size).toBe(POLICIES)
      }
      for (const each of instances) if (each.loss !== undefined) await restore(each).catch(() => {})
    }
    for (const each of [...instances, await instance()]) {
      expect(each.loss).toBeUndefined()
      expect(each.all('policy').size).toBe(POLICIES)
    }
    expect(await database.ids('policy')).toHaveLength(POLICIES)
  }

  describe('a second loss while two instances restore', () => {
    test('the second does not use an unfinished restore of the first: all records are restored', async () => {
      let second: Promise<unknown> | undefined
      const b = await instance((step, runs) => (step === 'claim' && runs === 0 ? database.clear() : undefined))
      const a = await instance((step, runs) => {
        if (step !== 'writeChunk' || runs !== 1) return undefined
        second = restore(b)
        return second.catch(() => {})
      })
      await fill(a)
      await b.poll()
      await loseAll(a, b)
      await expect(restore(a)).rejects.toMatchObject({ code: 'ERR_CONFLICT' })
      await second
      await expectAllBack(a, b)
    })

    test('an instance whose restore was lost, and whose records another has restored, goes on', async () => {
      const [a, b] = [await instance(), await instance()]
      await fill(a)
      await b.poll()
      await loseAll(a, b)
      await restore(a)
      await loseAll(b)
      await restore(b)
      await a.poll()
      expect(a.loss).toBeUndefined()
      await a.commit([policy('p0', 'again')])
      await b.poll()
      expect(b.loss).toBeUndefined()
      expect(b.all('policy').get('p0')).toBe('again')
    })
  })

  describe('a restore of which the database loses', () => {
    test('a record before its end fails, and can be repeated', async () => {
      const a = await instance((step, runs) =>
        step === 'finish' && runs === 0 ? database.removeRecord('policy', 'p7') : undefined,
      )
      await fill(a)
      await loseAll(a)
      await expect(restore(a)).rejects.toMatchObject({ code: 'ERR_CONFLICT' })
      await a.poll()
      expect(a.loss).toBeDefined()
      await expectAllBack(a)
    })

    test('one chunk, with the claim as it was before: fails, and can be repeated', async () => {
      let [back, claimBack]: Return[] = [async () => {}, async () => {}]
      const a = await instance(async (step, runs) => {
        if (step !== 'writeChunk' || runs > 1) return
        // A replica that had the claim, but not the chunk after it, takes over.
        if (runs === 0) claimBack = await database.snapshotClaim()
        else {
          await back('policies')
          await claimBack()
        }
      })
      await fill(a)
      back = await database.snapshot()
      await a.commit(Array.from({ length: POLICIES }, (_, n) => policy(`p${n}`, -1)))
      await back()
      await a.poll()
      await expect(restore(a)).rejects.toMatchObject({ code: 'ERR_CONFLICT' })
      await expectAllBack(a)
      expect(new Set((await instance()).all('policy').values())).toEqual(new Set([-1]))
    })
  })

  describe('records that are missing', () => {
    test('after a restore: an instance that reads all records again keeps those that it knows', async () => {
      const [a, b] = [await instance(), await instance()]
      await fill(a)
      await b.poll()
      await loseAll(a, b)
      await restore(a)
      await database.removeRecord('policy', 'p7')
      await b.poll()
      expect(b.loss).toBeDefined()
      await expectAllBack(b, a)
    })

    test('a commit based on them is refused, and changes nothing', async () => {
      const a = await instance()
      await fill(a)
      await database.removeRecord('policy', 'p7')
      await expect(a.commit([policy('new', 1)])).rejects.toMatchObject({ code: 'ERR_RECORDS_LOST' })
      expect(await database.ids('policy')).not.toContain('new')
      await expectAllBack(a)
    })
  })
})
