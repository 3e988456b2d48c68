// Reads import lines and holds them to the design in layers/design.ts.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { DESIGN, type Layers } from './layers/design.ts'
import { type Import, layerOf, type PackageSources, readPackage, targetLayer } from './layers/imports.ts'

/** Layers from the bottom up; those of a cycle are left out. */
function inOrder(layers: Layers): string[] {
  const order: string[] = []
  for (let found = -1; found < order.length; ) {
    found = order.length
    for (const [layer, below] of Object.entries(layers)) {
      const isNext = !order.includes(layer) && below.every((each) => each === '..' || order.includes(each))
      if (isNext) order.push(layer)
    }
  }
  return order
}

function existing(name: string): PackageSources {
  const found = readPackage(name)
  if (found === undefined) throw new Error(`there is no package ${name}`)
  return found
}

test('every package has a design', () => {
  const packages = readdirSync(fileURLToPath(new URL('../packages', import.meta.url)))
  expect(packages.filter((name) => !Object.hasOwn(DESIGN, name))).toEqual([])
})

describe.each(Object.entries(DESIGN))('%s', (name, { layers, exceptions }) => {
  const { files, imports } = existing(name)
  const across = imports
    .filter(({ from }) => from.startsWith('.'))
    .map((each) => ({ ...each, to: targetLayer(each) }))
    .filter(({ file, to }) => to !== layerOf(file))

  test('every layer is part of the design, which has no cycle', () => {
    expect([...new Set(files.map(layerOf))].filter((layer) => !Object.hasOwn(layers, layer))).toEqual([])
    expect(inOrder(layers).sort()).toEqual(Object.keys(layers).sort())
  })

  test('imports point one way, and every exception is still needed', () => {
    const wrong = across.filter(({ file, to }) => !layers[layerOf(file)].includes(to))
    const isNamed = (found: { file: string; to: string }): boolean =>
      exceptions.some(({ file, to }) => file === found.file && to === found.to)
    expect(wrong.filter((each) => !isNamed(each))).toEqual([])
    const isNeeded = ({ file, to }: { file: string; to: string }): boolean =>
      wrong.some((each) => each.file === file && each.to === to)
    expect(exceptions.filter((each) => !isNeeded(each))).toEqual([])
  })
})

const library = existing('sluice')
const client = existing('client')
const server = existing('server')
const dashboard = existing('dashboard')

test('the reader of import lines finds them, in types and in JSDoc too', () => {
  expect(library.imports).toContainEqual({ file: 'core/cost.ts', from: './errors.ts' })
  expect(library.imports.length).toBeGreaterThan(50)
  expect(server.imports).toContainEqual({ file: 'policies/policy.ts', from: 'sluice' })
  expect(dashboard.imports).toContainEqual({ file: 'main.tsx', from: './theme/base.css' })
  expect(existing('bench').imports).toContainEqual({ file: 'report/report.mjs', from: './table.mjs' })
  expect(targetLayer({ file: 'api/routes/check-routes.ts', from: '../../errors.ts' })).toBe('errors.ts')
})

test('the library depends on nothing: all that it imports from outside are these modules of Node, in one store and for tracing', () => {
  const outside = library.imports.filter(({ from }) => !from.startsWith('.')).map(({ file, from }) => `${file} ${from}`)
  expect(outside.sort()).toEqual([
    'stores/memcached/connection.ts node:process',
    'stores/memcached/memcached-options.ts node:tls',
    'stores/memcached/meta-commands.ts node:buffer',
    'stores/memcached/open-socket.ts node:net',
    'stores/memcached/open-socket.ts node:tls',
    'stores/memcached/reply-reader.ts node:buffer',
    'tracing/traced.ts node:diagnostics_channel',
  ])
  expect(library.manifest.dependencies).toBeUndefined()
})

test.each([
  ['client', client],
  ['server', server],
  ['dashboard', dashboard],
] as const)(
  'the %s stands on public doors of the other packages, and on packages that its manifest names',
  (_, { imports, manifest }) => {
    const doors = [library, client, server].flatMap(({ manifest: { name, exports } }) =>
      Object.keys(exports ?? {}).map((door) => `${name}${door.slice(1)}`),
    )
    const named = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies, ...manifest.peerDependencies }).filter(
      (name) => !name.startsWith('sluice'),
    )
    const isKnown = ({ from }: Import): boolean =>
      from.startsWith('.') ||
      from.startsWith('node:') ||
      doors.includes(from) ||
      named.some((name) => from === name || from.startsWith(`${name}/`))
    expect(imports.filter((each) => !isKnown(each))).toEqual([])
  },
)

test('the client stands on the library alone, and only its door for Node needs Node', () => {
  const outside = client.imports.filter(({ from }) => !from.startsWith('.')).map(({ file, from }) => `${file} ${from}`)
  expect(outside.sort()).toEqual([
    'guard.ts sluice/engines',
    'guard.ts sluice/failure',
    'transport/node-connection.ts node:http',
    'transport/node-connection.ts node:https',
    'transport/node-connection.ts node:net',
    'transport/transport.ts sluice/engines',
    'transport/transport.ts sluice/failure',
  ])
  expect(Object.keys(client.manifest.dependencies ?? {})).toEqual(['sluice'])
})

test('core, algorithms and failure read no ambient clock', () => {
  const ambient = /\b(Date\b|performance\.|setTimeout|setInterval|setImmediate|process\.|Math\.random)/
  const code = (file: string): string => readFileSync(join(library.src, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
  const reading = library.files
    .filter((file) => ['core', 'algorithms', 'failure'].includes(layerOf(file)))
    .filter((file) => ambient.test(code(file)))
  expect(reading).toEqual([])
})
