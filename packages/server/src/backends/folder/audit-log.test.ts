import { appendFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fakeClock } from 'sluice/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../../test/temporary-folder.ts'
import { type AuditPage, MOST_LOOKED_AT } from '../../audit/audit-entry.ts'
import { AuditLog, type AuditLogOptions } from './audit-log.ts'
import { openFolderAudit } from './folder-audit.ts'

async function logIn(folder: string, options: AuditLogOptions = {}): Promise<AuditLog> {
  const log = await AuditLog.open(folder, options)
  onTestFinished(() => log.close().catch(() => {}))
  return log
}

const entry = (n: number) => ({ actor: 'k1', action: 'policy.put', target: `p${n}`, after: { text: 'ä'.repeat(n % 50) } })

/** Reads every page, newest first. */
async function pagesOf(log: AuditLog, limit: number): Promise<AuditPage[]> {
  const pages = [await log.read({ limit })]
  for (let next = pages[0].next; next !== undefined; next = pages.at(-1)?.next)
    pages.push(await log.read({ before: next, limit }))
  return pages
}

const targetsOf = (pages: readonly AuditPage[]): string[] => pages.flatMap(({ entries }) => entries.map(({ target }) => target))

test('entries about one target are found page by page, with a bounded number of reads', async () => {
  const log = await logIn(temporaryFolder())
  const rare = { actor: 'k1', action: 'policy.put', target: 'rare' }
  await log.append({ ...rare, action: 'policy.delete' })
  await Promise.all(Array.from({ length: MOST_LOOKED_AT }, (_, i) => log.append(entry(i))))
  await log.append(rare)
  const first = await log.read({ target: 'rare' })
  expect(first).toMatchObject({ entries: [{ action: 'policy.put' }], lookedAt: MOST_LOOKED_AT })
  const searched = await log.read({ search: 'RARE' })
  expect(searched).toEqual(first)
  const second = await log.read({ target: 'rare', before: first.next as string })
  expect(second).toMatchObject({ entries: [{ action: 'policy.delete' }], next: undefined })
  expect((await log.read({ target: 'rare', limit: 1 })).entries).toHaveLength(1)
})

describe('an entry', () => {
  test('has the time and its fields, and is read back unchanged', async () => {
    const clock = fakeClock(Date.UTC(2025, 0, 2, 3, 4, 5, 6))
    const log = await logIn(temporaryFolder(), { now: clock.now })
    const said = {
      actor: 'k1',
      actorName: 'deploy',
      action: 'policy.put',
      target: 'api\n"x"',
      before: null,
      after: { rules: ['5/minute'] },
      requestId: 'r1',
      address: '127.0.0.1',
    }
    await log.append(said)
    expect(await log.read()).toEqual({ entries: [{ time: '2025-01-02T03:04:05.006Z', ...said }], next: undefined, lookedAt: 1 })
  })

  test('survives a restart, in a file that only its owner can read', async () => {
    const folder = join(temporaryFolder(), 'audit')
    const log = await logIn(folder)
    await log.append(entry(1))
    await log.close()
    const again = await logIn(folder)
    await again.append(entry(2))
    expect(targetsOf([await again.read()])).toEqual(['p2', 'p1'])
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(statSync(join(folder, 'audit-000001.jsonl')).mode & 0o777).toBe(0o600)
  })

  test('that was torn by a crash is removed, and the next one starts on a new line', async () => {
    const folder = temporaryFolder()
    const log = await logIn(folder)
    await log.append(entry(1))
    await log.close()
    appendFileSync(join(folder, 'audit-000001.jsonl'), '{"time":"20')
    const again = await logIn(folder)
    await again.append(entry(2))
    expect(targetsOf([await again.read()])).toEqual(['p2', 'p1'])
  })
})

describe('pages', () => {
  test('contain every entry once, newest first, over all files, for any page size', async () => {
    const log = await logIn(temporaryFolder(), { maxBytes: 2000, maxFiles: 100 })
    for (let i = 0; i < 200; i++) await log.append(entry(i))
    const expected = Array.from({ length: 200 }, (_, i) => `p${199 - i}`)
    for (const limit of [1, 7, 100, 1000]) expect(targetsOf(await pagesOf(log, limit))).toEqual(expected)
  })

  test('continue at their cursor while entries are added and files are rotated', async () => {
    const log = await logIn(temporaryFolder(), { maxBytes: 1000, maxFiles: 100 })
    for (let i = 0; i < 20; i++) await log.append(entry(i))
    const first = await log.read({ limit: 5 })
    for (let i = 20; i < 60; i++) await log.append(entry(i))
    const second = await log.read({ limit: 5, ...(first.next === undefined ? {} : { before: first.next }) })
    expect(targetsOf([first, second])).toEqual(Array.from({ length: 10 }, (_, i) => `p${19 - i}`))
  })

  test('read lines of any length', async () => {
    const log = await logIn(temporaryFolder())
    const sizes = [1, 65_000, 65_536, 200_000, 3]
    for (const size of sizes) await log.append({ actor: 'k', action: 'a', target: 'ä'.repeat(size) })
    const { entries } = await log.read()
    expect(entries.map(({ target }) => target.length)).toEqual(sizes.reverse())
  })

  test('of an empty log are empty, and an invalid cursor is refused', async () => {
    const log = await logIn(temporaryFolder())
    expect(await log.read()).toEqual({ entries: [], next: undefined, lookedAt: 0 })
    for (const before of ['', 'x', '1', '1-', '-1', '1-2-3', '../../x-1']) {
      await expect(log.read({ before })).rejects.toMatchObject({ code: 'ERR_INPUT' })
    }
  })

  test('accept a cursor in the middle of a line, or beyond the end', async () => {
    const log = await logIn(temporaryFolder())
    for (let i = 0; i < 3; i++) await log.append(entry(i))
    expect(targetsOf([await log.read({ before: '1-130' })])).toEqual(['p0'])
    expect(targetsOf([await log.read({ before: '1-999999999' })])).toEqual(['p2', 'p1', 'p0'])
    expect(targetsOf([await log.read({ before: '9-5' })])).toEqual(['p2', 'p1', 'p0'])
  })
})

test('only the newest files are kept, up to the maximum', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'other.txt'), 'not ours')
  const log = await logIn(folder, { maxBytes: 500, maxFiles: 3 })
  for (let i = 0; i < 100; i++) await log.append(entry(i))
  const files = readdirSync(folder).filter((name) => name.startsWith('audit-'))
  expect(files).toHaveLength(3)
  const targets = targetsOf(await pagesOf(log, 10))
  expect(targets[0]).toBe('p99')
  expect(targets).toEqual(Array.from({ length: targets.length }, (_, i) => `p${99 - i}`))
  expect(readdirSync(folder)).toContain('other.txt')
})

test('entries of the same moment are written together, in order', async () => {
  const log = await logIn(temporaryFolder())
  await Promise.all(Array.from({ length: 300 }, (_, i) => log.append(entry(i))))
  expect(targetsOf(await pagesOf(log, 1000))).toEqual(Array.from({ length: 300 }, (_, i) => `p${299 - i}`))
})

describe('by age', () => {
  const DAY_MS = 86_400_000
  const monthly = { keepMs: 80 * DAY_MS, maxBytes: 1_000_000, maxFiles: 10 }

  test('entries are kept for the configured time, and not much longer', async () => {
    const folder = temporaryFolder()
    const clock = fakeClock(Date.UTC(2027, 0, 1))
    const log = await logIn(folder, { ...monthly, now: clock.now })
    for (let day = 0; day < 400; day++) {
      await log.append(entry(day))
      const [oldest] = targetsOf(await pagesOf(log, 1000)).slice(-1)
      const kept = day - Number(oldest.slice(1))
      expect(kept).toBeGreaterThanOrEqual(Math.min(day, 80))
      expect(kept).toBeLessThanOrEqual(80 + 80 / 8 + 1)
      clock.advance(DAY_MS)
    }
    expect(readdirSync(folder).length).toBeLessThanOrEqual(10)
  })

  test('old files are removed at a start too, and the age of a file survives a restart', async () => {
    const folder = temporaryFolder()
    const clock = fakeClock(Date.UTC(2027, 0, 1))
    for (const [i, days] of [9, 9, 9, 200].entries()) {
      const log = await logIn(folder, { ...monthly, now: clock.now })
      await log.append(entry(i))
      await log.close()
      clock.advance(days * DAY_MS)
    }
    expect(readdirSync(folder)).toEqual(['audit-000001.jsonl', 'audit-000002.jsonl'])
    const log = await logIn(folder, { ...monthly, now: clock.now })
    expect(readdirSync(folder)).toEqual(['audit-000002.jsonl'])
    expect(targetsOf(await pagesOf(log, 10))).toEqual(['p3', 'p2'])
  })

  test('a file whose first line cannot be read is kept', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'audit-000001.jsonl'), `${JSON.stringify({ time: '2020-01-01T00:00:00.000Z', target: 'old' })}\n`)
    writeFileSync(join(folder, 'audit-000002.jsonl'), 'garbage\n')
    writeFileSync(join(folder, 'audit-000003.jsonl'), '')
    const log = await logIn(folder, { ...monthly })
    expect(readdirSync(folder)).toHaveLength(3)
    expect(targetsOf(await pagesOf(log, 10))).toEqual(['old'])
  })
})

test('sign-ins have a log of their own, and never displace a change', async () => {
  const folder = temporaryFolder()
  const trail = await openFolderAudit(folder)
  onTestFinished(() => trail.close())
  await trail.append(entry(1))
  const signIn = { actor: 'k1', action: 'session.start', target: 'x'.repeat(1000) }
  for (let i = 0; i < 13; i++) await Promise.all(Array.from({ length: 1000 }, () => trail.append(signIn)))
  expect((await trail.read()).entries).toMatchObject([{ action: 'policy.put' }])
  expect((await trail.read({ of: 'sign-ins', limit: 1 })).entries).toMatchObject([{ action: 'session.start' }])
  expect(readdirSync(folder).filter((name) => name.startsWith('sign-ins-'))).toHaveLength(10)
})
