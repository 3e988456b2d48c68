import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { firstLine } from './first-line.ts'

test.each([
  ['a line and more', 'one\ntwo\n', 'one'],
  ['an empty line', '\ntwo\n', ''],
  ['one that ends where a piece does', `${'x'.repeat(4096)}\ntwo`, 'x'.repeat(4096)],
  ['one over several pieces, with characters across them', `${'ä'.repeat(5000)}\n`, 'ä'.repeat(5000)],
  ['no whole line', 'torn', undefined],
  ['nothing', '', undefined],
  ['a line that is too long', `${'x'.repeat(1_100_000)}\n`, undefined],
])('of a file with %s', async (_what, written, line) => {
  const path = join(temporaryFolder(), 'file')
  writeFileSync(path, written)
  expect(await firstLine(path)).toBe(line)
})

test('of a file that does not exist', async () => {
  expect(await firstLine(join(temporaryFolder(), 'none'))).toBeUndefined()
})
