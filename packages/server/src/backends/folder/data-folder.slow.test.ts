import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { memoryStore } from 'sluice'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../test/temporary-folder.ts'
import { DataFolder } from './data-folder.ts'

test('a folder is created, private, and unlocked after it is closed', async () => {
  const path = join(temporaryFolder(), 'some', 'where')
  const folder = await DataFolder.open(path)
  expect(statSync(path).mode & 0o777).toBe(0o700)
  await expect(DataFolder.open(path)).rejects.toMatchObject({ code: 'ERR_DATA_LOCKED' })
  await folder.records.commit([{ kind: 'key', id: 'a', value: 1 }])
  await folder.saveCounters(memoryStore())
  await folder.close()
  const again = await DataFolder.open(path)
  expect(again.records.all('key').get('a')).toBe(1)
  expect((await again.openCounters()).store.size).toBe(0)
  await again.forgetCounters()
  await again.close()
  expect(readdirSync(path)).toEqual(['journal.jsonl'])
})

test('a folder that cannot be created or read causes an error with its name, and is not left locked', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'file'), '')
  await expect(DataFolder.open(join(folder, 'file'))).rejects.toMatchObject({
    code: 'ERR_DATA_WRITE',
    message: expect.stringContaining(`the data folder ${join(folder, 'file')} cannot be used`),
  })
  const damaged = join(folder, 'damaged')
  mkdirSync(damaged)
  writeFileSync(join(damaged, 'snapshot.jsonl'), 'not a snapshot\n')
  await expect(DataFolder.open(damaged)).rejects.toMatchObject({ code: 'ERR_DATA_DAMAGED' })
  expect(readdirSync(damaged)).toEqual(['snapshot.jsonl'])
})

test('a process that lost its lock writes nothing more', async () => {
  const path = temporaryFolder()
  const folder = await DataFolder.open(path)
  for (const name of readdirSync(path).filter((each) => each.startsWith('lock-'))) rmSync(join(path, name))
  await expect(folder.records.commit([{ kind: 'key', id: 'a', value: 1 }])).rejects.toMatchObject({ code: 'ERR_DATA_WRITE' })
  await folder.close()
})

/** Runs a writer for some milliseconds and kills it with -9. Returns the lines that it printed. */
async function runAndKill(path: string, from: number, ms: number, counting: 'from the start' | 'from the first change') {
  const writer = spawn(process.execPath, [
    fileURLToPath(new URL('../../../test/journal-writer.mjs', import.meta.url)),
    path,
    `${from}`,
  ])
  let said = ''
  let wrong = ''
  writer.stdout.on('data', (chunk) => {
    said += chunk
  })
  writer.stderr.on('data', (chunk) => {
    wrong += chunk
  })
  const kill = (): unknown => setTimeout(() => writer.kill('SIGKILL'), ms)
  if (counting === 'from the start') kill()
  else writer.stdout.once('data', kill)
  await new Promise((resolve) => writer.once('close', resolve))
  expect(wrong).toBe('')
  return said.split('\n').slice(0, -1)
}

interface Asked {
  readonly version: number
  readonly isPut: boolean
}

test('killed with -9 at random moments, fifty times, it loses no acknowledged change', async () => {
  const path = temporaryFolder()
  const rounds = 50
  /** For each id, the last acknowledged change, and the changes requested since. */
  const acknowledged = new Map<string, Asked>()
  let open = new Map<string, Asked[]>()
  let version = 0
  let changes = 0
  for (let round = 0; round < rounds; round++) {
    for (const line of await runAndKill(
      path,
      version,
      Math.random() * 100,
      round % 5 === 0 ? 'from the start' : 'from the first change',
    )) {
      const [what, id, digits, kind] = line.split(' ')
      const asked = { version: Number(digits), isPut: kind === 'put' }
      version = Math.max(version, asked.version)
      if (what === 'try') open.set(id, [...(open.get(id) ?? []), asked])
      else {
        const done = open.get(id)?.find((each) => each.version === asked.version) as Asked
        acknowledged.set(id, done)
        open.set(id, open.get(id)?.filter((each) => each.version > done.version) ?? [])
        changes += 1
      }
    }
    const folder = await DataFolder.open(path, { compactAtBytes: 3000 })
    const found = folder.records.all('policy') as ReadonlyMap<string, { version: number; text: string }>
    for (const [id, last] of acknowledged) {
      const value = found.get(id)
      // An unacknowledged change may have been written or not.
      const possible = [last, ...(open.get(id) ?? [])].map((each) => (each.isPut ? each.version : undefined))
      expect(possible, `${id} in round ${round}`).toContain(value?.version)
      if (value !== undefined) expect(value.text.length).toBe(value.version % 300)
    }
    // From now on it is known which unacknowledged changes were written.
    for (const [id, asked] of open) {
      const kept = asked.findLast((each) => (each.isPut ? each.version : undefined) === found.get(id)?.version)
      if (kept !== undefined) acknowledged.set(id, kept)
    }
    open = new Map()
    await folder.close()
  }
  expect(changes).toBeGreaterThan(rounds)
})
