// The audit logs in databases: the same pages and bounds everywhere.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DATABASE_NAMES, openConnected, TEST_DATABASES, type TestDatabase } from '../../test/databases/test-database.ts'
import type { AuditPage } from './audit-entry.ts'
import type { AuditTrail } from './audit-trail.ts'

const entry = (n: number) => ({ actor: 'k1', action: 'policy.put', target: `p${n}`, after: { text: 'ä'.repeat(n % 50) } })

const targetsOf = (pages: readonly AuditPage[]): string[] => pages.flatMap(({ entries }) => entries.map(({ target }) => target))

/** Reads every page, newest first. */
async function pagesOf(trail: AuditTrail, limit: number): Promise<AuditPage[]> {
  const pages = [await trail.read({ limit })]
  for (let next = pages[0].next; next !== undefined; next = pages.at(-1)?.next)
    pages.push(await trail.read({ before: next, limit }))
  return pages
}

describe.each(DATABASE_NAMES)('%s', (name) => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await TEST_DATABASES[name]()
  })
  beforeEach(() => database.clear())
  afterAll(() => database.stop())

  test('an entry is read back unchanged, with its time, whatever it contains', async () => {
    const { audit } = await openConnected(database)
    const said = {
      actor: 'k1',
      action: 'policy.put',
      target: 'a\0\n"x"\\ \ud800 ? $1',
      before: null,
      after: { rules: ['5/minute'], text: '\0\ud800' },
      requestId: 'r1',
      address: '127.0.0.1',
    }
    await audit.append(said)
    const { entries, next } = await audit.read()
    expect(entries).toEqual([{ time: expect.stringMatching(/^20\d\d-.*Z$/), ...said }])
    expect(next).toBeUndefined()
    expect((await audit.read({ target: said.target })).entries).toEqual(entries)
  })

  test('pages contain every entry once, newest first, for any page size and while entries are added', async () => {
    const { audit } = await openConnected(database)
    for (let i = 0; i < 60; i++) await audit.append(entry(i))
    const expected = Array.from({ length: 60 }, (_, i) => `p${59 - i}`)
    for (const limit of [7, 20, 60, 1000]) expect(targetsOf(await pagesOf(audit, limit))).toEqual(expected)
    const first = await audit.read({ limit: 5 })
    await audit.append(entry(60))
    const second = await audit.read({ limit: 5, before: first.next as string })
    expect(targetsOf([first, second])).toEqual(expected.slice(0, 10))
    expect(targetsOf([await audit.read({ target: 'p7' })])).toEqual(['p7'])
  })

  test('an empty log is empty, and an invalid cursor is refused', async () => {
    const { audit } = await openConnected(database)
    expect(await audit.read()).toEqual({ entries: [], next: undefined, lookedAt: 0 })
    for (const before of ['', 'x', '-1', '1-2-3', "1'", '1e3']) {
      await expect(audit.read({ before })).rejects.toMatchObject({ code: 'ERR_INPUT' })
    }
  })

  test('a search finds text in action, target, and the id or name of the actor, ignoring case, page by page', async () => {
    const { audit } = await openConnected(database)
    const by = (actor: string, actorName: string, action: string, target: string) => ({ actor, actorName, action, target })
    await audit.append(by('k1', 'Deploy bot', 'policy.put', 'acme'))
    await audit.append(by('k2', 'Ada', 'policy.delete', 'acme'))
    await audit.append(by('k2', 'Ada', 'key.revoke', 'k1'))
    // An entry of an earlier version has no name.
    await audit.append({ actor: 'k3', action: 'counter.reset', target: '100% _x ACME /' })
    const found = async (search: string) => (await audit.read({ search })).entries.map(({ action }) => action)
    expect(await found('deploy BOT')).toEqual(['policy.put'])
    expect(await found('acme')).toEqual(['counter.reset', 'policy.delete', 'policy.put'])
    expect(await found('POLICY.')).toEqual(['policy.delete', 'policy.put'])
    expect(await found('k1')).toEqual(['key.revoke', 'policy.put'])
    // Signs of patterns mean themselves.
    expect(await found('100% _')).toEqual(['counter.reset'])
    expect(await found('10_')).toEqual([])
    expect((await audit.read({ search: 'ada', target: 'acme' })).entries).toMatchObject([{ action: 'policy.delete' }])
    const first = await audit.read({ search: 'acme', limit: 1 })
    expect([first.entries.length, first.next === undefined]).toEqual([1, false])
    const second = await audit.read({ search: 'acme', limit: 5, before: first.next as string })
    expect(second.entries.map(({ action }) => action)).toEqual(['policy.delete', 'policy.put'])
    expect(second).toMatchObject({ next: undefined, lookedAt: 3 })
  })

  test('a change and its entry are stored together, or neither is, however often the change is sent', async () => {
    const { records, audit } = await openConnected(database)
    const change = { kind: 'policy', id: 'acme', value: { text: 'a\0\ud800' } } as const
    const first = { last: 0, mark: '', origin: '' }
    const request = { seen: first, mark: 'm1', origin: 'o', counts: { policy: 0, key: 0 }, changes: [change], entry: entry(1) }
    const position = await records.commit(request)
    expect(position).toMatchObject({ last: 1, mark: 'm1' })
    // The same request again, as after a lost answer, and the request of an instance that has not seen the first one.
    expect(await records.commit(request)).toBeUndefined()
    expect(await records.commit({ ...request, mark: 'm2', entry: entry(2) })).toBeUndefined()
    expect((await audit.read()).entries).toEqual([{ time: expect.any(String), ...entry(1) }])
    const { entry: _, ...quiet } = request
    expect(await records.commit({ ...quiet, mark: 'm3', seen: position as typeof first })).toMatchObject({ last: 2 })
    expect((await audit.read()).entries).toHaveLength(1)
  })

  test('entries of several instances at the same moment are all there', async () => {
    const trails = [(await openConnected(database)).audit, (await openConnected(database)).audit]
    await Promise.all(Array.from({ length: 40 }, (_, i) => trails[i % 2].append(entry(i))))
    expect(targetsOf([await trails[0].read()]).toSorted()).toEqual(Array.from({ length: 40 }, (_, i) => `p${i}`).toSorted())
  })
})
