// Reads import lines and holds which way they point.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const src = fileURLToPath(new URL('../packages/sluice/src', import.meta.url))

/** What each room may import from: itself, and the rooms named here. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  algorithms: ['core'],
  stores: ['core', 'algorithms'],
  testing: ['core', 'algorithms', 'stores', 'create-limiter.ts'],
  'create-limiter.ts': ['core', 'algorithms', 'stores'],
  'index.ts': ['core', 'algorithms', 'stores', 'create-limiter.ts'],
}

interface Import {
  readonly file: string
  readonly from: string
}

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)['"]([^'"]+)['"]/g)].map(([, from]) => ({
    file: relative(src, file),
    from,
  }))
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => join(src, name))
const imports = files.flatMap(importsOf)

const room = (path: string): string => path.split(/[\\/]/)[0]

test('the reader of import lines finds them', () => {
  expect(imports).toContainEqual({ file: join('core', 'cost.ts'), from: './errors.ts' })
  expect(imports.length).toBeGreaterThan(50)
})

test('every room is known', () => {
  expect([...new Set(files.map((file) => room(relative(src, file))))].sort()).toEqual(Object.keys(MAY_IMPORT).sort())
})

test('imports point one way', () => {
  const wrong = imports
    .filter(({ from }) => from.startsWith('.'))
    .map(({ file, from }) => ({ file, from, to: room(relative(src, resolve(src, dirname(file), from))) }))
    .filter(({ file, to }) => to !== room(file) && !MAY_IMPORT[room(file)].includes(to))
  expect(wrong).toEqual([])
})

test('the library depends on nothing: all that it imports from outside are these modules of Node', () => {
  const outside = imports
    .filter(({ from }) => !from.startsWith('.'))
    .map(({ file, from }) => `${file.replaceAll('\\', '/')} ${from}`)
  expect(outside.sort()).toEqual([
    'stores/redis/redis-batch.ts node:crypto',
    'stores/redis/redis-keys.ts node:crypto',
    'testing/store-suite.ts node:test',
  ])
  const manifest = JSON.parse(readFileSync(join(src, '../package.json'), 'utf8'))
  expect(manifest.dependencies).toBeUndefined()
})

test('core and algorithms read no ambient clock', () => {
  const ambient = /\b(Date\b|performance\.|setTimeout|setInterval|setImmediate|process\.|Math\.random)/
  const code = (file: string): string => readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
  const reading = files
    .filter((file) => ['core', 'algorithms'].includes(room(relative(src, file))))
    .filter((file) => ambient.test(code(file)))
  expect(reading).toEqual([])
})
