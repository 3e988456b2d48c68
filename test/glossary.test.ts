// The glossary lists each word once, and no comment begins with a question word.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The lines of the glossary's tables: word, perhaps where it is used, meaning. */
const rows = readFileSync(join(root, 'docs/glossary.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (?:-|word )/.test(line))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\|? *| *\|?$/g, '')))

describe('the glossary', () => {
  test('lists each word once, over all tables', () => {
    const words = rows.flatMap(([word]) => word.split(', '))
    expect(words.length).toBeGreaterThan(150)
    expect(words.filter((word, i) => words.indexOf(word) !== i)).toEqual([])
  })

  test('has a meaning of one short line for each word', () => {
    const bad = rows.filter(
      (row) => (row.at(-1) ?? '').length < 10 || (row.at(-1) ?? '').length > 150 || /→|\.$/.test(row.at(-1) ?? ''),
    )
    expect(bad).toEqual([])
  })
})

/** Folders whose comments are checked. Documents and examples are not in them. */
const FOLDERS = ['scripts', 'test', ...readdirSync(join(root, 'packages')).map((name) => `packages/${name}`)]

/** Generated, installed or built files. */
const SKIPPED = /(?:^|\/)(?:node_modules|dist|program\.ts)(?:\/|$)/

/** The start of a comment in TypeScript, JavaScript, CSS or Lua, and a word that begins a clause without its subject. */
const BAD_START = /^\s*(?:\/\/|\/?\*+|--) +(?:What|Who|Whom|How|Whether|Where|Of)\b(?! course)/

/** Returns the lines on which a comment begins with such a word. A line that continues a sentence is not a beginning. */
function badComments(source: string): string[] {
  const lines = source.split('\n')
  return lines.filter((line, i) => BAD_START.test(line) && !continuesSentence(lines[i - 1] ?? ''))
}

/** True for a comment line without the end of a sentence, so that the next line continues it. */
function continuesSentence(line: string): boolean {
  return /^\s*(?:\/\/|\*|--) /.test(line) && !/[.:;?!`)]\s*$/.test(line)
}

function sources(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((file) => `${folder}/${file}`)
      .filter((file) => /\.(?:ts|tsx|mjs|js|css|lua)$/.test(file) && !SKIPPED.test(file)),
  )
}

describe('comments', () => {
  test('begin with their subject, not with What, Who, Whom, How, Whether, Where or Of', () => {
    const files = sources()
    expect(files.length).toBeGreaterThan(500)
    const found = files.flatMap((file) =>
      badComments(readFileSync(join(root, file), 'utf8')).map((line) => `${file}: ${line.trim()}`),
    )
    expect(found).toEqual([])
  })

  test.each([
    ['// What it does.', true],
    ['  /** Whether it works. */', true],
    [' * Of all rows, the first.', true],
    ['-- How long a key lives.', true],
    ['// Returns the key.', false],
    ['// Whatever comes first.', false],
  ])('%s is found: %s', (line, isFound) => {
    expect(badComments(line)).toHaveLength(isFound ? 1 : 0)
  })

  test('a line that continues a sentence is not a beginning', () => {
    expect(badComments('// The reason is a question\n// Who asked it, nobody knows.')).toEqual([])
  })
})
