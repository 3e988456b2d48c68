import { copyFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../test/temporary-folder.ts'
import { sealLine } from '../../files/checked-lines.ts'
import type { Change } from '../../records.ts'
import { Journal, type JournalOptions } from './journal.ts'

const put = (id: string, value: unknown): Change => ({ kind: 'policy', id, value })
const drop = (id: string): Change => ({ kind: 'policy', id, value: undefined })

/** Returns the records in a folder. */
async function contentOf(folder: string, options: JournalOptions = {}): Promise<Record<string, unknown>> {
  const journal = await Journal.open(folder, options)
  const content = Object.fromEntries(journal.all('policy'))
  await journal.close()
  return content
}

describe('a journal', () => {
  test('has its committed changes when it is opened again', async () => {
    const folder = temporaryFolder()
    const journal = await Journal.open(folder)
    await journal.commit([put('a', { limit: 1 }), { kind: 'key', id: 'a', value: 'other kind' }])
    await journal.commit([put('b', 2), put('c', 3)])
    await journal.commit([drop('b'), put('a', { limit: 9 })])
    expect(Object.fromEntries(journal.all('policy'))).toEqual({ a: { limit: 9 }, c: 3 })
    await journal.close()
    expect(await contentOf(folder)).toEqual({ a: { limit: 9 }, c: 3 })
    const again = await Journal.open(folder)
    expect(Object.fromEntries(again.all('key'))).toEqual({ a: 'other kind' })
    await again.close()
  })

  test('shows a change only after its commit', async () => {
    const journal = await Journal.open(temporaryFolder())
    const committed = journal.commit([put('a', 1)])
    expect(journal.all('policy').size).toBe(0)
    await committed
    expect(journal.all('policy').size).toBe(1)
    await journal.close()
  })

  test('writes commits of the same moment together', async () => {
    const folder = temporaryFolder()
    const journal = await Journal.open(folder)
    await Promise.all(Array.from({ length: 500 }, (_, i) => journal.commit([put(`p${i}`, i)])))
    await journal.close()
    const lines = readFileSync(join(folder, 'journal.jsonl'), 'utf8').trimEnd().split('\n')
    expect(lines.length).toBeLessThan(5)
    expect(Object.keys(await contentOf(folder))).toHaveLength(500)
  })

  test('accepts nothing after it was closed, and finishes earlier commits', async () => {
    const folder = temporaryFolder()
    const journal = await Journal.open(folder)
    const committed = journal.commit([put('a', 1)])
    await journal.close()
    await committed
    await expect(journal.commit([put('b', 1)])).rejects.toMatchObject({ code: 'ERR_DATA_WRITE' })
    expect(await contentOf(folder)).toEqual({ a: 1 })
  })

  test('writes nothing more after the folder was taken over', async () => {
    const folder = temporaryFolder()
    let isOurs = true
    const journal = await Journal.open(folder, { isOurs: async () => isOurs })
    await journal.commit([put('a', 1)])
    isOurs = false
    await expect(journal.commit([put('b', 1)])).rejects.toThrow(/has been taken over by another process/)
    await journal.close()
    expect(await contentOf(folder)).toEqual({ a: 1 })
  })

  test('stores any id and any JSON, even ill-formed Unicode', async () => {
    const folder = temporaryFolder()
    const journal = await Journal.open(folder)
    const values: [string, unknown][] = [
      ['__proto__', { a: 1 }],
      ['', null],
      ['\ud800', '\udfff\n\u2028'],
      ['a\nb', [1, [2]]],
    ]
    for (const [id, value] of values) await journal.commit([put(id, value)])
    await journal.close()
    const again = await Journal.open(folder)
    expect([...again.all('policy')]).toEqual(values)
    await again.close()
  })
})

describe('a journal that was cut off', () => {
  test('at any byte has every complete change, reports what it dropped, and goes on', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'journal.jsonl')
    const journal = await Journal.open(folder)
    const ends = [0]
    for (let i = 1; i <= 4; i++) {
      await journal.commit([put('a', i), put(`p${i}`, 'ä')])
      ends.push(statSync(path).size)
    }
    await journal.close()
    const whole = readFileSync(path)
    for (let length = 0; length <= whole.length; length++) {
      writeFileSync(path, whole.subarray(0, length))
      const good = ends.filter((end) => end <= length).length - 1
      const opened = await Journal.open(folder)
      expect(opened.all('policy').get('a')).toBe(good === 0 ? undefined : good)
      expect(opened.notices.length).toBe(ends.includes(length) ? 0 : 1)
      await opened.commit([put('after', length)])
      await opened.close()
      expect((await contentOf(folder)).after).toBe(length)
    }
  })

  test('reports the place and the number of bytes', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'journal.jsonl')
    const journal = await Journal.open(folder)
    await journal.commit([put('a', 1)])
    await journal.commit([put('a', 2)])
    await journal.close()
    truncateSync(path, statSync(path).size - 10)
    const opened = await Journal.open(folder)
    await opened.close()
    expect(opened.notices).toEqual([
      expect.stringMatching(/journal\.jsonl: dropped \d+ bytes after line 1: a change that was never/),
    ])
  })
})

describe('inconsistent files are refused', () => {
  async function three(): Promise<string> {
    const folder = temporaryFolder()
    const journal = await Journal.open(folder)
    for (let i = 1; i <= 3; i++) await journal.commit([put('a', i)])
    await journal.close()
    return folder
  }

  test('an invalid line followed by valid ones', async () => {
    const folder = await three()
    const path = join(folder, 'journal.jsonl')
    writeFileSync(path, readFileSync(path, 'utf8').replace('"value":2', '"value":7'))
    await expect(Journal.open(folder)).rejects.toMatchObject({
      code: 'ERR_DATA_DAMAGED',
      message: expect.stringMatching(/journal\.jsonl is damaged: line 2 is not what was written/),
    })
  })

  test('a changed bit in the last complete line: acknowledged changes are not dropped silently', async () => {
    const folder = await three()
    const path = join(folder, 'journal.jsonl')
    const whole = readFileSync(path)
    const start = whole.lastIndexOf(0x0a, whole.length - 2) + 1
    for (let byte = start; byte < whole.length; byte++) {
      const flipped = Buffer.from(whole)
      flipped[byte] ^= 1 << (byte % 8)
      writeFileSync(path, flipped)
      await expect(Journal.open(folder)).rejects.toMatchObject({
        code: 'ERR_DATA_DAMAGED',
        message: expect.stringMatching(/line 3 is not what was written\. .* delete that line to go on without its changes/),
      })
      expect(readFileSync(path)).toEqual(flipped)
    }
    writeFileSync(path, whole.subarray(0, start))
    expect(await contentOf(folder)).toEqual({ a: 2 })
  })

  test('a line or a snapshot of a newer version; one without a version is read', async () => {
    const folder = await three()
    const path = join(folder, 'journal.jsonl')
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, 3)
    const resealed = (changes: object) =>
      lines.map((line) => {
        const { sum: _, ...value } = JSON.parse(line)
        return sealLine({ ...value, ...changes })
      })
    writeFileSync(path, resealed({ version: undefined }).join(''))
    expect(await contentOf(folder)).toEqual({ a: 3 })
    const refusal = {
      code: 'ERR_DATA_VERSION',
      message: expect.stringMatching(/has version 2, and this program reads versions up to 1: use the program that wrote it/),
    }
    writeFileSync(path, resealed({ version: 2 }).join(''))
    await expect(Journal.open(folder)).rejects.toMatchObject(refusal)
    writeFileSync(path, '')
    writeFileSync(join(folder, 'snapshot.jsonl'), sealLine({ version: 2, n: 1, records: 0 }))
    await expect(Journal.open(folder)).rejects.toMatchObject(refusal)
  })

  test('a missing line', async () => {
    const folder = await three()
    const path = join(folder, 'journal.jsonl')
    const lines = readFileSync(path, 'utf8').split('\n')
    writeFileSync(path, [lines[0], ...lines.slice(2)].join('\n'))
    await expect(Journal.open(folder)).rejects.toThrow(/change 2 is missing: after 1 comes 3/)
  })

  test('a snapshot with a changed bit, or cut off', async () => {
    const folder = await three()
    const journal = await Journal.open(folder, { compactAtBytes: 1 })
    await journal.commit([put('b', 1)])
    await journal.close()
    const path = join(folder, 'snapshot.jsonl')
    const whole = readFileSync(path, 'utf8')
    for (const text of [whole.replace('"value":3', '"value":4'), whole.slice(0, -5), `${whole.split('\n')[0]}\n`, '']) {
      writeFileSync(path, text)
      await expect(Journal.open(folder)).rejects.toMatchObject({ code: 'ERR_DATA_DAMAGED' })
    }
  })
})

describe('a snapshot', () => {
  const options = { compactAtBytes: 200 }

  test('replaces a journal that has grown', async () => {
    const folder = temporaryFolder()
    const journal = await Journal.open(folder, options)
    for (let i = 0; i < 100; i++) await journal.commit([put(`p${i % 7}`, i)])
    await journal.close()
    expect(statSync(join(folder, 'journal.jsonl')).size).toBeLessThan(1000)
    expect(statSync(join(folder, 'snapshot.jsonl')).mode & 0o777).toBe(0o600)
    expect(await contentOf(folder)).toEqual({ p0: 98, p1: 99, p2: 93, p3: 94, p4: 95, p5: 96, p6: 97 })
  })

  test('whose journal was not emptied applies no change twice', async () => {
    const folder = temporaryFolder()
    const [path, kept] = [join(folder, 'journal.jsonl'), join(folder, 'kept')]
    const journal = await Journal.open(folder, options)
    while (statSync(path).size < options.compactAtBytes) await journal.commit([put('a', 1), drop('b')])
    copyFileSync(path, kept)
    await journal.commit([put('b', 'added after the snapshot')])
    await journal.close()
    writeFileSync(path, Buffer.concat([readFileSync(kept), readFileSync(path)]))
    expect(await contentOf(folder)).toEqual({ a: 1, b: 'added after the snapshot' })
  })

  test('that is incomplete is ignored', async () => {
    const folder = temporaryFolder()
    const journal = await Journal.open(folder)
    await journal.commit([put('a', 1)])
    await journal.close()
    writeFileSync(join(folder, 'snapshot.jsonl.tmp'), '{"version":1,"n":9')
    expect(await contentOf(folder)).toEqual({ a: 1 })
    expect(() => statSync(join(folder, 'snapshot.jsonl.tmp'))).toThrow(/ENOENT/)
  })

  test('and journal together equal a plain map, after any commits and restarts', async () => {
    const change = fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd'), value: fc.option(fc.nat(99), { nil: undefined }) })
    const step = fc.oneof(fc.constant('open' as const), fc.array(change, { minLength: 1, maxLength: 3 }))
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const folder = temporaryFolder()
        const model = new Map<string, unknown>()
        let journal = await Journal.open(folder, options)
        for (const each of steps) {
          if (each === 'open') {
            await journal.close()
            journal = await Journal.open(folder, options)
          } else {
            await journal.commit(each.map(({ id, value }) => ({ kind: 'policy', id, value })))
            for (const { id, value } of each) value === undefined ? model.delete(id) : model.set(id, value)
          }
          expect(Object.fromEntries(journal.all('policy'))).toEqual(Object.fromEntries(model))
        }
        await journal.close()
      }),
      { numRuns: 40 },
    )
  })
})
