// CONTRIBUTING.md: the commands and paths that its recipes name are there, and no command is left out.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './working-copy.ts'

const text = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
const spans = [...text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, span]) => span)

/** The scripts that a span runs, such as `test` and `bench`. */
function scriptsOf(span: string): string[] {
  return [...span.matchAll(/^npm (?:run )?([\w:-]+)/g)].map(([, script]) => script)
}

/** The help text of a script's last program. */
function helpOf(script: string): string {
  const [, ...program] = String(scripts[script].split(' && ').at(-1)).split(' ')
  return spawnSync(process.execPath, [...program, '--help'], { cwd: ROOT, encoding: 'utf8' }).stdout
}

test('every command is a script of the repository, and every script is explained', () => {
  const named = spans.flatMap(scriptsOf)
  expect(named.length).toBeGreaterThan(15)
  expect(named.filter((script) => !Object.hasOwn(scripts, script))).toEqual([])
  const own = Object.keys(scripts).filter((script) => !/^pre/.test(script))
  expect(own.filter((script) => !named.includes(script))).toEqual([])
})

test('arguments of commands are those that the programs explain', () => {
  const rows = [...text.matchAll(/^\| (`npm run .*)$/gm)].map(([, row]) => row)
  const withArguments = rows.flatMap((row) => {
    const [script] = scriptsOf(row.slice(1))
    const words = [...row.matchAll(/-- ([\w-]+)|`(--[\w-]+)`/g)].map(([, first, second]) => first ?? second)
    return words.map((word) => ({ script, word }))
  })
  expect(withArguments.length).toBeGreaterThan(5)
  const helps = new Map(withArguments.map(({ script }) => [script, '']))
  for (const script of helps.keys()) helps.set(script, helpOf(script))
  expect(withArguments.filter(({ script, word }) => !helps.get(script)?.includes(word))).toEqual([])
})

test('every path is there', () => {
  const paths = spans
    .map((span) => /^(?:npx vitest run )?([\w.-]+(?:\/[\w.-]+)+\/?)$/.exec(span)?.[1])
    .filter((path) => path !== undefined)
  expect(paths.length).toBeGreaterThan(10)
  const folders = ['', 'packages/sluice/src', 'packages/sluice']
  expect(paths.filter((path) => !folders.some((folder) => existsSync(join(ROOT, folder, path))))).toEqual([])
})
