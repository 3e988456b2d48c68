// Checks the documents of the service against the service: shown commands run and print the shown output, and every endpoint,
// command and option is documented. A block marked ```sh that begins with curl or sluice is run. All blocks of a document run
// one after the other on one service. A block marked ```json or ```text directly after it is the expected output, in which
// `…` stands for anything.

import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type SluiceService, startSluice } from './servers/sluice-service.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const PROGRAM = join(root, 'packages/server/dist/cli/main.js')

interface Block {
  readonly line: number
  readonly command: string
  readonly expected: { readonly kind: string; readonly text: string } | undefined
}

const documents = ['README.md', 'deploy/README.md', 'packages/server/README.md', ...markdownUnder('docs')]
const withBlocks = documents
  .map((document) => ({ document, blocks: blocksOf(document) }))
  .filter(({ blocks }) => blocks.length > 0)

test('the reader of documents finds what there is to type', () => {
  expect(withBlocks.map(({ document }) => document)).toContain(join('docs', 'reference', 'service-api.md'))
  expect(withBlocks.flatMap(({ blocks }) => blocks).length).toBeGreaterThan(30)
})

test('every curl line of a document is one that is run', () => {
  const typed = documents.flatMap((document) => read(document).match(/^curl .*/gm) ?? [])
  const run = withBlocks.flatMap(({ blocks }) => blocks.flatMap(({ command }) => command.match(/^curl .*/gm) ?? []))
  expect(typed.length).toBeGreaterThan(20)
  expect(typed).toEqual(run)
})

describe.each(withBlocks)('$document', ({ blocks }) => {
  let service: SluiceService
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-documents-'))
    const shim = join(folder, 'bin', 'sluice')
    mkdirSync(join(folder, 'bin'))
    writeFileSync(shim, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`)
    chmodSync(shim, 0o755)
    // The built-in policy counts by clock minutes. No document runs over the end of one.
    const intoMinuteMs = Date.now() % 60_000
    if (intoMinuteMs > 45_000) await pause(60_000 - intoMinuteMs)
    service = await startSluice()
  })
  afterAll(async () => {
    await service?.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  test.each(blocks)('line $line', async ({ command, expected }) => {
    const line = command.replaceAll('http://127.0.0.1:8080', service.url)
    const env = { ...process.env, ...service.clientEnv, PATH: `${join(folder, 'bin')}:${process.env.PATH}` }
    const { stdout } = await promisify(execFile)('sh', ['-ec', line], { env, cwd: folder, maxBuffer: 10_000_000 })
    if (expected?.kind === 'json') expect(JSON.parse(stdout)).toEqual(like(JSON.parse(expected.text)))
    if (expected?.kind === 'text') expect(stdout.trim()).toMatch(pattern(expected.text.trim()))
    if (expected === undefined && command.startsWith('curl')) expect(stdout).not.toContain('"status":"error"')
  })
})

test('every endpoint of the description is in the reference of the API, and no other', () => {
  const { paths } = JSON.parse(read('packages/server/openapi.json')) as { paths: Record<string, Record<string, unknown>> }
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const documented = [...read('docs/reference/service-api.md').matchAll(/^### `([A-Z]+ \/\S*)`$/gm)].map(
    ([, endpoint]) => endpoint,
  )
  expect(documented.sort()).toEqual(described.sort())
})

test('every parameter, and every field of a body, of the description is in the section of its endpoint', () => {
  const { paths, components } = JSON.parse(read('packages/server/openapi.json'))
  const sections = sectionsOf('docs/reference/service-api.md')
  const missing: string[] = []
  for (const [path, methods] of Object.entries<Record<string, Operation>>(paths)) {
    // The fields of a policy are documented on another page.
    if (path === '/v1/policies/{name}') continue
    for (const [method, { parameters = [], requestBody }] of Object.entries(methods)) {
      const endpoint = `${method.toUpperCase()} ${path}`
      const body = requestBody?.content['application/json'].schema
      const reference = body?.$ref?.split('/').at(-1)
      const fields = Object.keys((reference === undefined ? body : components.schemas[reference])?.properties ?? {})
      const names = [...parameters.map(({ name }) => name), ...fields].filter((name) => !path.includes(`{${name}}`))
      const section = sections.get(endpoint)?.toLowerCase() ?? ''
      missing.push(...names.filter((name) => !section.includes(name)).map((name) => `${endpoint}: ${name}`))
    }
  }
  expect(missing).toEqual([])
})

interface Operation {
  readonly parameters?: readonly { readonly name: string }[]
  readonly requestBody?: {
    readonly content: {
      readonly 'application/json': { readonly schema: { readonly $ref?: string; readonly properties?: object } }
    }
  }
}

test("the client's table of errors is the code's", async () => {
  const { CLIENT_ERROR_CODES } = await import('sluice-client')
  const rows = [...read('docs/reference/client.md').matchAll(/^\| `(ERR_\w+)` +\| (.*?) +\|$/gm)]
  expect(Object.fromEntries(rows.map(([, code, meaning]) => [code, meaning]))).toEqual(CLIENT_ERROR_CODES)
})

test('every command and option of the command line is in its reference, and no other', async () => {
  const { buildProgram } = await import('../packages/server/src/cli/program.ts')
  const { flags } = await import('../packages/server/src/config/options.ts')
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
  const program = await buildProgram({ ...streams, env: {}, exitCode: 0 })
  type Command = typeof program
  const leavesOf = (command: Command, path: string): (readonly [string, Command])[] =>
    command.commands.length === 0
      ? [[path, command]]
      : command.commands.flatMap((sub) => leavesOf(sub as Command, `${path} ${sub.name()}`))
  const leaves = new Map(leavesOf(program, 'sluice'))
  const sections = sectionsOf('docs/reference/command-line.md')
  expect([...sections.keys()].sort()).toEqual([...leaves.keys()].sort())

  const everywhere = flagsIn(read('docs/reference/command-line.md').split('\n## ')[1])
  expect(everywhere.sort()).toEqual(['--json', '--key-file', '--timeout', '--url'])
  const ofService = flags().map(({ usage }) => usage.split(' ')[0])
  for (const [name, command] of leaves) {
    const own = command.options
      .map(({ long }) => long as string)
      .filter((flag) => !everywhere.includes(flag) && !(/^sluice (serve|config|health)/.test(name) && ofService.includes(flag)))
    const said = flagsIn(sections.get(name)?.replace(/^```[\s\S]*?^```$/gm, '') ?? '')
    expect(said.sort(), name).toEqual(own.sort())
  }
})

test('the exit codes of the command line are those of its reference', async () => {
  const { EXIT } = await import('../packages/server/src/cli/exit-codes.ts')
  const rows = [...read('docs/reference/command-line.md').matchAll(/^\| (\d) +\|/gm)].map(([, code]) => Number(code))
  expect(rows).toEqual([...new Set(Object.values(EXIT))].sort())
})

test('the options of createClient are those of its reference', async () => {
  const [, shared, own, failure] = read('docs/reference/client.md').split(/^\| (?:option|own option|in `failure`) .*$/m)
  const rowsOf = (text: string) => [...text.split('\n\n')[0].matchAll(/^\| `(\w+)` /gm)].map(([, name]) => name)
  const { createClient } = await import('sluice-client')
  const { createClient: createForNode } = await import('sluice-client/node')
  expect(() => createClient({ nothing: 1 } as never)).toThrow(`the options are ${rowsOf(shared).join(', ')}`)
  const ofNode = [...rowsOf(shared).filter((name) => name !== 'fetch'), ...rowsOf(own).filter((name) => name !== 'url')]
  expect(() => createForNode({ nothing: 1 } as never)).toThrow(`the options are ${ofNode.join(', ')}`)
  expect(() => createClient({ failure: { nothing: 1 } as never })).toThrow(`the options are ${rowsOf(failure).join(', ')}`)
})

function read(document: string): string {
  return readFileSync(join(root, document), 'utf8')
}

function markdownUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => relative(root, join(root, folder, name)))
    .sort()
}

function blocksOf(document: string): Block[] {
  const text = read(document)
  return [...text.matchAll(/^```sh\n((?:curl|sluice|printf) [\s\S]*?)^```$(?:\n\n^```(json|text)\n([\s\S]*?)^```$)?/gm)].map(
    (match) => ({
      line: text.slice(0, match.index).split('\n').length + 1,
      command: match[1],
      expected: match[2] === undefined ? undefined : { kind: match[2], text: match[3] },
    }),
  )
}

/** The text under each heading that is a name in code. */
function sectionsOf(document: string): Map<string, string> {
  return new Map(
    [...read(document).matchAll(/^### `(.+)`\n([\s\S]*?)(?=^##+ |(?![\s\S]))/gm)].map(([, name, text]) => [name, text]),
  )
}

function flagsIn(text: string): string[] {
  return [...new Set([...text.matchAll(/`(--[a-z-]+)/g)].map(([, flag]) => flag))]
}

/** Fields whose values depend on the time. */
const VARIES = new Set(['reset_in_second', 'retry_after_ms'])

/** Turns a shown value into a matcher. */
function like(shown: unknown, name = ''): unknown {
  if (typeof shown === 'string') return shown.includes('…') ? expect.stringMatching(pattern(shown)) : shown
  if (typeof shown === 'number') return VARIES.has(name) && shown > 0 ? expect.any(Number) : shown
  if (Array.isArray(shown)) return shown.map((each) => like(each, name))
  if (shown === null || typeof shown !== 'object') return shown
  return Object.fromEntries(Object.entries(shown).map(([key, value]) => [key, like(value, key)]))
}

function pattern(shown: string): RegExp {
  return new RegExp(
    `^${shown
      .split('…')
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('[^\\n]+?')}$`,
  )
}
