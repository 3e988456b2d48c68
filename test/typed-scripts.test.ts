// Programs that are plain JavaScript state their types in JSDoc. This holds that the type check reads all of them.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

function linesOf(command: string, ...args: string[]): string[] {
  const { stdout } = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8' })
  return stdout.split('\n').filter((line) => line !== '')
}

const scripts = linesOf('git', 'ls-files', '--cached', '--others', '--exclude-standard', '--', '*.mjs')

test('every script is part of the type check, and none opts out of it', () => {
  expect(scripts.length).toBeGreaterThan(100)
  const tsc = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.scripts.json', '--listFilesOnly']
  const checked = new Set(linesOf(process.execPath, ...tsc).map((file) => file.slice(ROOT.length)))
  expect(scripts.filter((file) => !checked.has(file))).toEqual([])
  expect(scripts.filter((file) => readFileSync(ROOT + file, 'utf8').includes(`@ts-${'nocheck'}`))).toEqual([])
})

test('npm run typecheck runs it', () => {
  const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
  expect(scripts.typecheck).toContain('tsc -p tsconfig.scripts.json')
})
