// The messages of the compiler for keys that do not fit the rules.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const source = (path: string): string => fileURLToPath(new URL(`../../src/${path}`, import.meta.url))

const TSC = fileURLToPath(new URL('../../../../node_modules/typescript/bin/tsc', import.meta.url))

const FLAGS = '--noEmit --strict --skipLibCheck --target es2023 --lib es2023,dom --module nodenext --allowImportingTsExtensions'

/** The compiler's messages about a program, without those about the files that it imports. */
function messages(program: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-types-'))
  try {
    writeFileSync(join(folder, 'program.mts'), program)
    const { stdout } = spawnSync(process.execPath, [TSC, ...FLAGS.split(' '), 'program.mts'], { cwd: folder, encoding: 'utf8' })
    return stdout.split(/\n(?=\S)/).filter((message) => message.startsWith('program.mts'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('the compiler names the key that is missing', () => {
  const program = (key: string) => `
    import { fixedWindow } from '${source('algorithms/fixed-window/fixed-window.ts')}'
    import { expressLimiter } from '${source('middleware/express.ts')}'
    const perUser = fixedWindow({ limit: 5, window: '1m', name: 'requests', per: 'user' })
    const perOrg = fixedWindow({ limit: 9, window: '1m', name: 'tokens', per: 'org' })
    expressLimiter({ rules: [perUser, perOrg], key: () => (${key}) })
  `
  expect(messages(program("{ user: 'ada' }"))).toEqual([
    expect.stringContaining("Property 'org' is missing in type '{ user: string; }'"),
  ])
  expect(messages(program("{ user: 'ada', org: 'acme' }"))).toEqual([])
})
