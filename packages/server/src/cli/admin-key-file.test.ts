import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { makeKeyText } from '../keys/key-text.ts'
import { AdminKeyFile } from './admin-key-file.ts'

test('missing folders are created, and only the owner can read the key', () => {
  const path = join(temporaryFolder(), 'a', 'b', 'admin-key')
  const file = new AdminKeyFile(path, false)
  file.check()
  const { text } = makeKeyText()
  file.write(text)
  expect(readFileSync(path, 'utf8')).toBe(`${text}\n`)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700)
})

test('an empty file and an earlier key may be replaced, anything else may not', () => {
  const path = join(temporaryFolder(), 'admin-key')
  const check = () => new AdminKeyFile(path, false).check()
  const { text } = makeKeyText()
  for (const content of ['', `${text}\n`]) {
    writeFileSync(path, content)
    expect(check).not.toThrow()
  }
  for (const content of [`${text}\n${text}\n`, `${text.slice(0, -1)}!`, 'x'.repeat(100_000)]) {
    writeFileSync(path, content)
    expect(check).toThrow('contains something other than an API key of Sluice')
  }
})

test('a write that fails leaves no key behind', () => {
  const path = join(temporaryFolder(), 'admin-key')
  const file = new AdminKeyFile(path, false)
  file.check()
  // The path became a folder after the check.
  mkdirSync(path)
  expect(() => file.write(makeKeyText().text)).toThrow(/EISDIR|ENOTEMPTY|EEXIST|EPERM/)
  expect(existsSync(`${path}.new`)).toBe(false)
})
