// The answer to a commit is lost: the change is made once, and the caller learns what happened.

import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { DATABASE_NAMES, openConnected, TEST_DATABASES, type TestDatabase } from '../../../test/databases/test-database.ts'
import { type Around, wrappedSteps } from '../../../test/databases/wrapped-steps.ts'
import { ServerError } from '../../errors.ts'
import type { Change, ChangeNote } from '../../records.ts'
import { SharedRecords } from './shared-records.ts'

const policy = (id: string, value: unknown): Change => ({ kind: 'policy', id, value })

const lost = () => new ServerError('ERR_DATA_UNKNOWN', 'the connection was cut')

const noteOf = (target: string): ChangeNote => ({ entry: { actor: 'k', action: 'policy.put', target }, isStored: false })

/** Calls `strike` instead of the commit with this number. The first has the number 1. */
function atCommit(nth: number, strike: (send: () => Promise<unknown>) => Promise<unknown>): Around {
  let commits = 0
  return (step, send) => {
    if (step === 'commit') commits += 1
    return step === 'commit' && commits === nth ? strike(send) : send()
  }
}

describe.each(DATABASE_NAMES)('on %s', (name) => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await TEST_DATABASES[name]()
  })
  beforeEach(() => database.clear())
  afterAll(() => database.stop())

  async function instance(around: Around = (_, send) => send()): Promise<SharedRecords> {
    const records = new SharedRecords({ database: wrappedSteps((await openConnected(database)).records, around) })
    onTestFinished(() => records.close())
    await records.poll()
    return records
  }

  test('the change was made: the commit succeeds, with one change and one entry', async () => {
    const records = await instance(
      atCommit(1, async (send) => {
        await send()
        throw lost()
      }),
    )
    const note = noteOf('p')
    await records.commit([policy('p', 1)], { note })
    expect([await database.lastChange(), note.isStored]).toEqual([1, true])
    expect(records.all('policy').get('p')).toBe(1)
    await records.commit([policy('p', 2)])
    expect((await instance()).all('policy').get('p')).toBe(2)
  })

  test('the change was not made: it is made now, and the first request comes too late', async () => {
    let late: (() => Promise<unknown>) | undefined
    const records = await instance(
      atCommit(1, async (send) => {
        late = send
        throw lost()
      }),
    )
    await records.commit([policy('p', 1)])
    expect(await late?.()).toBeUndefined()
    expect(await database.lastChange()).toBe(1)
  })

  test('others made changes meanwhile: the commit succeeds all the same', async () => {
    const other = await instance()
    const records = await instance(
      atCommit(1, async (send) => {
        await send()
        await other.poll()
        await other.commit([policy('theirs', 1)])
        throw lost()
      }),
    )
    await records.commit([policy('ours', 1)])
    expect(Object.fromEntries(records.all('policy'))).toEqual({ ours: 1, theirs: 1 })
  })

  test('others made a change first, and ours was not made: it is a conflict', async () => {
    const other = await instance()
    const records = await instance(
      atCommit(1, async () => {
        await other.poll()
        await other.commit([policy('p', 'theirs')])
        throw lost()
      }),
    )
    await expect(records.commit([policy('p', 'ours')])).rejects.toMatchObject({ code: 'ERR_CONFLICT' })
    expect(records.all('policy').get('p')).toBe('theirs')
  })

  // The same on all, and it takes two seconds.
  test.runIf(name === 'redis')(
    'the database cannot be asked: the error says so in time, and a later poll finds out',
    async () => {
      let isDown = false
      const records = await instance(async (step, send) => {
        if (isDown) throw new ServerError('ERR_DATA_WRITE', 'no connection')
        const answer = await send()
        if (step !== 'commit') return answer
        isDown = true
        throw lost()
      })
      const startMs = performance.now()
      const [first, second] = await Promise.allSettled([records.commit([policy('p', 1)]), records.commit([policy('q', 1)])])
      expect(performance.now() - startMs).toBeLessThan(4000)
      expect(first).toMatchObject({ reason: { code: 'ERR_DATA_UNKNOWN', message: expect.stringContaining('look before') } })
      // The second was not sent.
      expect(second).toMatchObject({ reason: { code: 'ERR_DATA_WRITE' } })
      isDown = false
      await records.poll()
      expect(Object.fromEntries(records.all('policy'))).toEqual({ p: 1 })
    },
  )
})
