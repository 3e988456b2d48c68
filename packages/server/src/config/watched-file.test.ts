import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { readPolicy } from '../policies/policy.ts'
import { PolicyBook } from '../policies/policy-book.ts'
import { readConfigFile } from './config-file.ts'
import { type FileEvent, WatchedFile } from './watched-file.ts'

const policies = (limit: number, more = ''): string => `policies:\n  - { name: a, client: acme, rules: ${limit}/minute }\n${more}`

async function watched(text = policies(1)) {
  const path = join(temporaryFolder(), 'sluice.yaml')
  writeFileSync(path, text)
  const book = new PolicyBook()
  const events: FileEvent[] = []
  const file = new WatchedFile({ file: await readConfigFile(path), book, onEvent: (event) => events.push(event) })
  file.start()
  onTestFinished(() => file.stop())
  const limit = (): number => book.find('acme', '/').rules[0].limit
  /** Polls twice: the first poll notices a change, the second one sees that the file is unchanged since. */
  const poll = async (): Promise<void> => {
    await file.poll()
    await file.poll()
  }
  return { path, book, events, file, limit, poll }
}

test('its policies are in force from the start, with the source file', async () => {
  const { book, limit, events } = await watched()
  expect(limit()).toBe(1)
  expect(book.get('a')?.source).toBe('file')
  expect(events).toEqual([])
})

test('a change is applied within a second', async () => {
  const { path, limit, events } = await watched()
  writeFileSync(path, policies(2))
  await vi.waitFor(() => expect(limit()).toBe(2), { timeout: 1000, interval: 10 })
  expect(events).toEqual([{ kind: 'taken', policies: 1, hidden: [], needRestart: [] }])
})

test('a replaced file is applied too, directly or behind a link', async () => {
  const { path, limit, poll } = await watched()
  writeFileSync(`${path}.new`, policies(2))
  renameSync(`${path}.new`, path)
  await poll()
  expect(limit()).toBe(2)
  writeFileSync(`${path}.target`, policies(3))
  symlinkSync(`${path}.target`, `${path}.link`)
  renameSync(`${path}.link`, path)
  await poll()
  expect(limit()).toBe(3)
})

test('a file that is being written is not read until it stops changing', async () => {
  const { path, limit, file } = await watched()
  writeFileSync(path, policies(2))
  await file.poll()
  expect(limit()).toBe(1)
  writeFileSync(path, policies(33))
  await file.poll()
  expect(limit()).toBe(1)
  await file.poll()
  expect(limit()).toBe(33)
})

test('an invalid file changes nothing, is reported once, and can be corrected', async () => {
  const { path, limit, events, poll, book } = await watched()
  writeFileSync(path, policies(2, '  - { name: b, client: bolt, rules: 5/minut }\n'))
  await poll()
  await poll()
  expect(limit()).toBe(1)
  expect(book.get('b')).toBeUndefined()
  expect(events).toEqual([
    { kind: 'refused', message: expect.stringMatching(/sluice\.yaml:3: policies\[1\]\.rules: no unit is called "minut"/) },
  ])
  rmSync(path)
  await poll()
  expect(events.at(-1)).toMatchObject({ kind: 'refused', message: expect.stringContaining('cannot be read') })
  expect(limit()).toBe(1)
  writeFileSync(path, policies(4))
  await poll()
  expect(limit()).toBe(4)
})

test('policies removed from the file are no longer in force', async () => {
  const { path, book, poll } = await watched()
  writeFileSync(path, '')
  await poll()
  expect(book.find('acme', '/').name).toBe('default')
})

test('it reports options that need a restart, and hidden policies of the API', async () => {
  const { path, book, events, poll } = await watched('logLevel: info\n')
  book.put(readPolicy({ name: 'a', client: 'other', rules: '5/minute' }, 'api'))
  writeFileSync(path, `maxKeys: 5\n${policies(2)}`)
  await poll()
  expect(events).toEqual([{ kind: 'taken', policies: 1, hidden: ['a'], needRestart: ['logLevel', 'maxKeys'] }])
})

test('a change between the first read and the start is not missed', async () => {
  const path = join(temporaryFolder(), 'sluice.yaml')
  writeFileSync(path, policies(1))
  const read = await readConfigFile(path)
  writeFileSync(path, policies(22))
  const book = new PolicyBook()
  const file = new WatchedFile({ file: read, book, onEvent: () => {} })
  file.start()
  await file.poll()
  await file.poll()
  await file.stop()
  expect(book.find('acme', '/').rules[0].limit).toBe(22)
})

test('reload reads the file immediately', async () => {
  const { path, limit, file } = await watched()
  writeFileSync(path, policies(5))
  await file.reload()
  expect(limit()).toBe(5)
})
