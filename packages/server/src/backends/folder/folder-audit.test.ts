import { appendFileSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../../test/temporary-folder.ts'
import type { Change, ChangeNote } from '../../records.ts'
import { DataFolder } from './data-folder.ts'
import { openFolderAudit } from './folder-audit.ts'

const change = (id: string): Change => ({ kind: 'policy', id, value: { rules: '5/minute' } })
const noteOf = (target: string): ChangeNote => ({ entry: { actor: 'k1', action: 'policy.put', target }, isStored: false })

async function open(path: string) {
  const folder = await DataFolder.open(path)
  const audit = await openFolderAudit(path, folder.records.lastEntries)
  const close = async () => {
    await audit.close()
    await folder.close()
  }
  onTestFinished(close)
  const targets = async () => (await audit.read()).entries.map(({ target }) => target)
  return { folder, audit, close, targets }
}

test('the entry of a change is there after a kill between the change and its entry, once and with its time', async () => {
  const path = temporaryFolder()
  const first = await open(path)
  const [a, b] = [noteOf('a'), noteOf('b')]
  await first.folder.records.commit([change('a')], { note: a })
  await first.audit.appendNote(a)
  await first.folder.records.commit([change('b')], { note: b })
  await first.close()
  for (let start = 0; start < 2; start++) {
    const again = await open(path)
    expect(await again.targets()).toEqual(['b', 'a'])
    expect((await again.audit.read()).entries[0]).toEqual({ time: b.time, ...b.entry })
    await again.close()
  }
})

test('an entry that was cut while it was written is written again', async () => {
  const path = temporaryFolder()
  const first = await open(path)
  const note = noteOf('a')
  await first.folder.records.commit([change('a')], { note })
  await first.audit.appendNote(note)
  await first.close()
  const file = join(path, 'audit-000001.jsonl')
  truncateSync(file, readFileSync(file).length - 10)
  expect(await (await open(path)).targets()).toEqual(['a'])
})

test('a change without an entry, such as a time of last use, adds none, and neither does a change that was cut', async () => {
  const path = temporaryFolder()
  const first = await open(path)
  const note = noteOf('a')
  await first.folder.records.commit([change('a')], { note })
  await first.audit.appendNote(note)
  await first.folder.records.commit([change('a')])
  await first.close()
  appendFileSync(join(path, 'journal.jsonl'), '{"version":1,"n":3,"changes":[],"entries":[{"time":"')
  const again = await open(path)
  expect(await again.targets()).toEqual(['a'])
  expect(again.folder.notices).toHaveLength(1)
})
