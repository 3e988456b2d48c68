import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../../../test/servers/redis-server.mjs'
import { RedisDatabase } from '../../../test/databases/redis-database.ts'
import { DATABASE_NAMES, openConnected, TEST_DATABASES, type TestDatabase } from '../../../test/databases/test-database.ts'
import type { Change } from '../../records.ts'
import { SharedRecords } from './shared-records.ts'

interface Instance {
  readonly records: SharedRecords
  readonly heard: Change[]
}

const put = (id: string, value: unknown, kind: Change['kind'] = 'policy'): Change => ({ kind, id, value })

describe.each(DATABASE_NAMES)('%s', (name) => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await TEST_DATABASES[name]()
  })
  beforeEach(() => database.clear())
  afterAll(() => database.stop())

  async function instance(of = database): Promise<Instance> {
    const opened = await openConnected(of, () => records.nudge())
    const records = new SharedRecords({ database: opened.records })
    const heard: Change[] = []
    records.watch((change) => heard.push(change))
    onTestFinished(() => records.close())
    return { records, heard }
  }

  describe('one instance', () => {
    test('has its committed changes, also after a restart', async () => {
      const { records } = await instance()
      await records.start()
      await records.commit([put('a', { n: 1 }), put('k', { n: 2 }, 'key')])
      await records.commit([put('b', { n: 3 }), put('a', undefined)])
      const again = await instance()
      await again.records.start()
      for (const each of [records, again.records]) {
        expect([...each.all('policy')]).toEqual([['b', { n: 3 }]])
        expect([...each.all('key')]).toEqual([['k', { n: 2 }]])
      }
      expect(again.heard).toEqual([put('b', { n: 3 }), put('k', { n: 2 }, 'key')])
    })

    test('does not call its listeners for its own changes', async () => {
      const { records, heard } = await instance()
      await records.start()
      await records.commit([put('a', 1)])
      await records.poll()
      expect(heard).toEqual([])
    })

    test('any text is a safe id', async () => {
      const { records } = await instance()
      await records.start()
      const ids = ['__proto__', '', ' ', '🦉', 'a\r\nb', '{x}', '1-0', "it's", 'a"b\\c', '\0', '?', '$1', 'x'.repeat(2000)]
      for (const id of ids) await records.commit([put(id, { id })])
      const again = await instance()
      await again.records.start()
      expect([...again.records.all('policy').keys()].sort()).toEqual([...ids].sort())
    })
  })

  describe('several instances', () => {
    /** Redis removes old changes some time later. */
    async function trim(): Promise<void> {
      if (database instanceof RedisDatabase) await database.server.cli('XTRIM', 'sluice:{records}:changes', 'MAXLEN', 5)
    }

    test("learn of each other's changes within a second, in order", async () => {
      const [a, b] = [await instance(), await instance()]
      await Promise.all([a.records.start(), b.records.start()])
      const startMs = performance.now()
      for (let n = 1; n <= 20; n++) await a.records.commit([put('x', n)])
      await a.records.commit([put('x', undefined), put('y', 1)])
      await until('the other to hear', async () => b.heard.length === 22)
      expect(performance.now() - startMs).toBeLessThan(1000)
      expect(b.heard.map(({ value }) => value)).toEqual([...Array.from({ length: 20 }, (_, i) => i + 1), undefined, 1])
      expect([...b.records.all('policy')]).toEqual([['y', 1]])
    })

    test('one that has not seen a change of the same kind does not overwrite it, and has seen it afterwards', async () => {
      const [a, b] = [await instance(), await instance()]
      await Promise.all([a.records.poll(), b.records.poll()])
      await a.records.commit([put('k', { revoked: true }, 'key')])
      await expect(b.records.commit([put('k', { revoked: false }, 'key')])).rejects.toMatchObject({ code: 'ERR_CONFLICT' })
      expect(b.heard).toEqual([put('k', { revoked: true }, 'key')])
      await b.records.commit([put('k', { revoked: true, used: 1 }, 'key')])
      await a.records.poll()
      expect(a.records.all('key').get('k')).toEqual({ revoked: true, used: 1 })
    })

    test('a change of another kind causes no conflict', async () => {
      const [a, b] = [await instance(), await instance()]
      await Promise.all([a.records.poll(), b.records.poll()])
      await a.records.commit([put('k', 1, 'key')])
      await b.records.commit([put('p', 1)])
      expect([...b.records.all('key'), ...b.records.all('policy')]).toEqual([
        ['k', 1],
        ['p', 1],
      ])
    })

    test('many writers at once: every acknowledged commit is there, and all instances agree', async () => {
      const instances = await Promise.all(Array.from({ length: 4 }, () => instance()))
      await Promise.all(instances.map(({ records }) => records.start()))
      const acknowledged = new Map<string, unknown>()
      await Promise.all(
        instances.map(async ({ records }, i) => {
          for (let n = 0; n < 30; n++) {
            const id = `${i}-${n}`
            for (;;) {
              try {
                await records.commit([put(id, n)])
                acknowledged.set(id, n)
                break
              } catch (error) {
                expect(error).toMatchObject({ code: 'ERR_CONFLICT' })
              }
            }
          }
        }),
      )
      await Promise.all(instances.map(({ records }) => records.poll()))
      for (const { records } of instances) {
        expect(new Map([...records.all('policy')].sort())).toEqual(new Map([...acknowledged].sort()))
      }
    })

    test('one that missed more than the stream has reads all records, and reports the differences', async () => {
      const [a, b] = [await instance(), await instance()]
      await Promise.all([a.records.poll(), b.records.poll()])
      await a.records.commit([put('stays', 1), put('goes', 1)])
      await b.records.poll()
      b.heard.length = 0
      const many = Array.from({ length: 3000 }, (_, n) => put('x', n))
      await a.records.commit(many)
      await a.records.commit([put('goes', undefined)])
      await trim()
      await b.records.poll()
      expect(b.heard).toEqual([put('goes', undefined), put('x', 2999)])
    })
  })

  describe('a database that does not answer', () => {
    test('fails a commit in time, together with all commits that were requested with it', async () => {
      const other = await TEST_DATABASES[name]()
      onTestFinished(() => other.stop())
      const { records, heard } = await instance(other)
      await records.start()
      await records.commit([put('a', 1)])
      await other.kill()
      const startMs = performance.now()
      const results = await Promise.allSettled([records.commit([put('a', 2)]), records.commit([put('a', 3)])])
      expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
      // A connection that ends while the change is on its way leaves its outcome unknown.
      const code = expect.stringMatching(/^ERR_DATA_(WRITE|UNKNOWN)$/)
      expect((results[0] as PromiseRejectedResult).reason).toMatchObject({ code })
      expect(performance.now() - startMs).toBeLessThan(5000)
      expect([...records.all('policy')]).toEqual([['a', 1]])
      await other.start()
      // Only Redis forgets everything in a crash, as it is configured here.
      if (name === 'redis') await until('it to be followed again', async () => records.loss !== undefined)
      else await until('changes to be possible again', async () => records.commit([put('b', 1)]).then(() => true))
      expect(heard).toEqual([])
      expect(records.all('policy').get('a')).toBe(1)
    })
  })
})
