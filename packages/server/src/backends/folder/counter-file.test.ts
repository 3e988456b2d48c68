import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLimiter, memoryStore, parseRule } from 'sluice'
import { fakeClock } from 'sluice/testing'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../test/temporary-folder.ts'
import { forgetCounters, openCounters, saveCounters } from './counter-file.ts'

const rules = parseRule('100/hour; sliding-log 100/hour')

async function savedIn(folder: string) {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  createLimiter({ rules, store }).hit('ada', { cost: 30 })
  await saveCounters(folder, store)
  return clock
}

test('counters are restored once after a planned stop', async () => {
  const folder = temporaryFolder()
  const clock = await savedIn(folder)
  const { store, problem } = await openCounters(folder, { clock })
  expect(problem).toBeUndefined()
  expect(
    createLimiter({ rules, store })
      .peek('ada')
      .rules.map(({ remaining }) => remaining),
  ).toEqual([70, 70])
  await forgetCounters(folder)
  expect((await openCounters(folder, { clock })).store.size).toBe(0)
  await forgetCounters(folder)
})

test('only their owner can read the file', async () => {
  const folder = temporaryFolder()
  await savedIn(folder)
  expect(readdirSync(folder)).toEqual(['counters.bin'])
  expect(statSync(join(folder, 'counters.bin')).mode & 0o777).toBe(0o600)
})

test('a damaged file is not used, and the problem is reported', async () => {
  const folder = temporaryFolder()
  const clock = await savedIn(folder)
  const path = join(folder, 'counters.bin')
  const bytes = readFileSync(path)
  bytes[50] ^= 4
  writeFileSync(path, bytes)
  const { store, problem } = await openCounters(folder, { clock })
  expect(store.size).toBe(0)
  expect(problem).toMatch(/counters\.bin is not used, counters start empty: the dump cannot be restored: its checksum is another/)
})

test('an invalid option is not mistaken for a damaged file', async () => {
  const folder = temporaryFolder()
  await savedIn(folder)
  await expect(openCounters(folder, { maxKeys: 0 })).rejects.toMatchObject({ code: 'ERR_OPTION' })
})
