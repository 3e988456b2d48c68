import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { AppendFile } from './append-file.ts'

test('appended text is in the file, which only its owner can read', async () => {
  const path = join(temporaryFolder(), 'file')
  const file = await AppendFile.open(path)
  await file.append('ä\n')
  await file.append('b\n')
  expect(file.length).toBe(5)
  await file.close()
  expect(readFileSync(path, 'utf8')).toBe('ä\nb\n')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const again = await AppendFile.open(path)
  await again.append('c\n')
  await again.truncate(3)
  await again.append('d\n')
  await again.close()
  expect(readFileSync(path, 'utf8')).toBe('ä\nd\n')
})

test.runIf(process.platform === 'linux')('a full disk is an error, and afterwards the file accepts no more text', async () => {
  const file = await AppendFile.open('/dev/full')
  await expect(file.append('a\n')).rejects.toThrow(/\/dev\/full could not be written: ENOSPC/)
  await expect(file.append('b\n')).rejects.toMatchObject({ code: 'ERR_DATA_WRITE', status: 503 })
  await file.close()
})
