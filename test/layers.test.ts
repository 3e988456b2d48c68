// Reads import lines and holds which way they point.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

interface Import {
  readonly file: string
  readonly from: string
}

/** The sources of a package, and what their import lines name. */
function readPackage(name: string) {
  const src = fileURLToPath(new URL(`../packages/${name}/src`, import.meta.url))
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => join(src, file))
  const importsOf = (file: string): Import[] => {
    const text = readFileSync(file, 'utf8')
    return [...text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)['"]([^'"\n]+)['"]/g)].map(([, from]) => ({
      file: relative(src, file),
      from,
    }))
  }
  const manifest = JSON.parse(readFileSync(join(src, '../package.json'), 'utf8'))
  return { src, files, imports: files.flatMap(importsOf), manifest }
}

const room = (path: string): string => path.split(/[\\/]/)[0]

/** What each room may import from: itself, and the rooms named here. */
const MAY_IMPORT: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  sluice: {
    core: [],
    algorithms: ['core'],
    engines: ['core', 'failure'],
    stores: ['core', 'algorithms', 'engines'],
    http: ['core'],
    middleware: ['core', 'http', 'stores', 'create-limiter.ts'],
    testing: ['core', 'algorithms', 'engines', 'stores', 'create-limiter.ts'],
    'create-limiter.ts': ['core', 'algorithms', 'stores'],
    'index.ts': ['core', 'algorithms', 'stores', 'create-limiter.ts'],
  },
  server: {
    'errors.ts': [],
    input: ['errors.ts'],
    data: ['errors.ts'],
    policies: ['errors.ts', 'input', 'data'],
    keys: ['errors.ts', 'input', 'data'],
    audit: ['input', 'data'],
    config: ['errors.ts', 'input', 'policies'],
    log: ['config'],
    stats: [],
    decide: ['policies', 'stats'],
    redis: ['errors.ts', 'input', 'config', 'data', 'audit', 'keys'],
    'version.ts': [],
    web: ['errors.ts', 'keys'],
    api: ['errors.ts', 'input', 'policies', 'keys', 'audit', 'decide', 'stats', 'version.ts', 'log', 'config', 'web'],
    'keeping.ts': ['errors.ts', 'config', 'data', 'audit', 'redis', 'log', 'api'],
    'serve.ts': ['errors.ts', 'config', 'policies', 'keys', 'stats', 'decide', 'log', 'api', 'keeping.ts', 'version.ts'],
    'run-until-signal.ts': ['serve.ts'],
    // Only types: what it runs is its own. See below.
    client: ['policies', 'keys'],
    cli: [
      'errors.ts',
      'version.ts',
      'input',
      'config',
      'policies',
      'keys',
      'client',
      'serve.ts',
      'run-until-signal.ts',
      'data',
      'audit',
      'redis',
    ],
    'index.ts': ['errors.ts', 'config', 'policies', 'serve.ts', 'run-until-signal.ts'],
  },
}

describe.each(Object.entries(MAY_IMPORT))('%s', (name, mayImport) => {
  const { src, files, imports } = readPackage(name)

  test('every room is known', () => {
    expect([...new Set(files.map((file) => room(relative(src, file))))].sort()).toEqual(Object.keys(mayImport).sort())
  })

  test('imports point one way', () => {
    const wrong = imports
      .filter(({ from }) => from.startsWith('.'))
      .map(({ file, from }) => ({ file, from, to: room(relative(src, resolve(src, dirname(file), from))) }))
      .filter(({ file, to }) => to !== room(file) && !mayImport[room(file)].includes(to))
    expect(wrong).toEqual([])
  })
})

const library = readPackage('sluice')
const server = readPackage('server')

test('the reader of import lines finds them', () => {
  expect(library.imports).toContainEqual({ file: join('core', 'cost.ts'), from: './errors.ts' })
  expect(library.imports.length).toBeGreaterThan(50)
  expect(server.imports).toContainEqual({ file: join('policies', 'policy.ts'), from: 'sluice' })
})

test('the library depends on nothing: all that it imports from outside are these modules of Node', () => {
  const outside = library.imports
    .filter(({ from }) => !from.startsWith('.'))
    .map(({ file, from }) => `${file.replaceAll('\\', '/')} ${from}`)
  expect(outside.sort()).toEqual([
    'stores/redis/redis-batch.ts node:crypto',
    'stores/redis/redis-keys.ts node:crypto',
    'testing/store-suite.ts node:test',
  ])
  expect(library.manifest.dependencies).toBeUndefined()
})

test('the server stands on public doors of the library, and on packages that its manifest names', () => {
  const doors = Object.keys(library.manifest.exports).map((door) => `sluice${door.slice(1)}`)
  const { sluice: _, ...dependencies } = server.manifest.dependencies
  const isKnown = ({ from }: Import): boolean =>
    from.startsWith('.') ||
    from.startsWith('node:') ||
    doors.includes(from) ||
    Object.keys(dependencies).some((name) => from === name || from.startsWith(`${name}/`))
  expect(server.imports.filter((each) => !isKnown(each))).toEqual([])
})

test('the client needs nothing but Node', () => {
  const inClient = server.files.filter((file) => room(relative(server.src, file)) === 'client')
  const imported = inClient.flatMap((file) => [
    ...readFileSync(file, 'utf8').matchAll(/^(import|export) (?!type )[^'\n]*from '([^']+)'/gm),
  ])
  expect(imported.length).toBeGreaterThan(10)
  expect(imported.map(([, , from]) => from).filter((from) => !/^(node:|\.\/)/.test(from))).toEqual([])
})

test('core and algorithms read no ambient clock', () => {
  const ambient = /\b(Date\b|performance\.|setTimeout|setInterval|setImmediate|process\.|Math\.random)/
  const code = (file: string): string => readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
  const reading = library.files
    .filter((file) => ['core', 'algorithms'].includes(room(relative(library.src, file))))
    .filter((file) => ambient.test(code(file)))
  expect(reading).toEqual([])
})
