// Checks the documents against the code: examples run and print the shown output, links and paths lead somewhere, and the
// table of errors equals that of the code. A block marked ```ts no-run is only shown.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { ERROR_CODES, type ErrorCode, SluiceError } from 'sluice'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type MariadbServer, startMariadb } from './servers/mariadb-server.mjs'
import { type MemcachedServer, startMemcached } from './servers/memcached-server.mjs'
import { type RedisServer, startRedis } from './servers/redis-server.mjs'
import { type SluiceService, startSluice } from './servers/sluice-service.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Folder for example modules: inside node_modules, so that 'sluice' is the workspace's package and git ignores it. */
const workshop = join(root, 'node_modules/.cache/documents')

interface Example {
  readonly title: string
  readonly file: string
  readonly code: string
}

const documents = markdownUnder(root)
const examples = documents.flatMap(examplesOf)

test('the reader of documents finds them, and their examples', () => {
  expect(documents).toContain('README.md')
  expect(documents).toContain(join('docs', 'README.md'))
  expect(examples.length).toBeGreaterThan(20)
})

describe('examples', () => {
  let redis: RedisServer
  let memcached: MemcachedServer
  let mariadb: MariadbServer
  let service: SluiceService
  beforeAll(async () => {
    redis = await startRedis()
    memcached = await startMemcached()
    mariadb = await startMariadb()
    service = await startSluice()
    Object.assign(process.env, service.clientEnv, {
      REDIS_URL: `redis://127.0.0.1:${redis.port}`,
      MEMCACHED_SERVER: memcached.address,
      MYSQL_URL: `mysql://app@127.0.0.1:${mariadb.port}/app`,
    })
  })
  afterAll(async () => {
    await redis?.stop()
    await memcached?.stop()
    await mariadb?.stop()
    await service?.remove()
  })

  rmSync(workshop, { recursive: true, force: true })
  mkdirSync(join(workshop, 'typed'), { recursive: true })

  test.each(examples)('$title prints what it says', async ({ file, code }) => {
    const printed = new Map<number, string[]>()
    Object.assign(globalThis, {
      documentPrints(line: number, ...values: unknown[]) {
        printed.set(line, [...(printed.get(line) ?? []), values.map(render).join(' ')])
      },
    })
    const path = join(workshop, file)
    writeFileSync(path, withPrints(code))
    await import(/* @vite-ignore */ path)
    for (const [index, text] of code.split('\n').entries()) {
      const said = /\/\/ → (.*)$/.exec(text)?.[1]
      if (said !== undefined) expect(printed.get(index + 1)?.join(', '), text).toBe(said.trim())
    }
  })

  test('their types are right', () => {
    const typed = join(workshop, 'typed')
    const options = { noEmit: true, types: ['node'], noUnusedLocals: false, noUnusedParameters: false, composite: false }
    writeFileSync(join(typed, 'package.json'), '{ "type": "module" }')
    writeFileSync(
      join(typed, 'tsconfig.json'),
      JSON.stringify({ extends: join(root, 'tsconfig.base.json'), compilerOptions: options }),
    )
    for (const { file, code } of examples) writeFileSync(join(typed, file), `${code}\nexport {}\n`)
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', typed], { encoding: 'utf8', cwd: typed })
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' })
  })
})

describe('links', () => {
  test.each(documents)('%s leads where it says', (document) => {
    expect(linksOf(document).filter((link) => !leadsSomewhere(document, link))).toEqual([])
  })

  test('the index names every document of docs', () => {
    const index = join('docs', 'README.md')
    const named = linksOf(index).map((link) => join('docs', link))
    expect(documents.filter((name) => dirname(name).startsWith('docs') && name !== index && !named.includes(name))).toEqual([])
  })
})

test('the paths that ARCHITECTURE.md names exist', () => {
  const named = [...read('ARCHITECTURE.md').matchAll(/`([\w.-]+(?:\/[\w.-]+)*\/?)`/g)].map(([, path]) => path)
  const paths = named.filter((path) => path.includes('/') || /\.(ts|mjs|md|json)$/.test(path))
  expect(paths.length).toBeGreaterThan(15)
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
})

test('the reference of errors is the table of codes', () => {
  const rows = [...read('docs/reference/errors.md').matchAll(/^\| `(ERR_\w+)` +\| (.*?) +\| (yes|no) +\| .+ \|$/gm)]
  expect(Object.fromEntries(rows.map(([, code, meaning]) => [code, meaning]))).toEqual(ERROR_CODES)
  for (const [, code, , transient] of rows) expect(`${code} ${transient}`).toBe(`${code} ${isTransient(code) ? 'yes' : 'no'}`)
})

test('every algorithm is explained under the same headings', () => {
  const folder = 'packages/sluice/src/algorithms'
  const algorithms = readdirSync(join(root, folder), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(algorithms.length).toBeGreaterThan(0)
  for (const { name } of algorithms) {
    const headings = [...withoutCode(read(join(folder, name, 'README.md'))).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
    expect(headings, name).toEqual(['The idea', 'A picture', 'The sums', 'Worst case', 'What a key costs', 'When not to use it'])
  }
})

function read(document: string): string {
  return readFileSync(join(root, document), 'utf8')
}

function markdownUnder(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules' || entry.name === 'dist' || entry.name.startsWith('.')) return []
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return markdownUnder(path)
    return entry.name.endsWith('.md') ? [relative(root, path)] : []
  })
}

function examplesOf(document: string): Example[] {
  const text = read(document)
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((block) => {
    const line = text.slice(0, block.index).split('\n').length + 1
    const file = `${document.replace(/\.md$/, '').replaceAll(/[^\w-]+/g, '-')}-${line}.ts`
    return { title: `${document}:${line}`, file, code: block[1] }
  })
}

/** Passes the line of the example to every console.log. */
function withPrints(code: string): string {
  const lines = code.split('\n').map((line, i) => line.replaceAll('console.log(', `globalThis.documentPrints(${i + 1}, `))
  return lines.join('\n')
}

function render(value: unknown): string {
  return typeof value === 'string' ? value : inspect(value, { breakLength: Number.POSITIVE_INFINITY })
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '').replace(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()#]/g, ''))
}

/** Links to other documents and anchors. Links out of the repository are left out. */
function linksOf(document: string): string[] {
  const links = [...withoutCode(read(document)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link)
  return links.filter((link) => !/^[a-z]+:/.test(link))
}

function leadsSomewhere(document: string, link: string): boolean {
  const [path, anchor] = link.split('#')
  const target = path === '' ? document : relative(root, resolve(root, dirname(document), path))
  if (!existsSync(join(root, target))) return false
  return anchor === undefined || (basename(target).endsWith('.md') && anchorsOf(target).includes(anchor))
}

/** The anchors of a page's headings. */
function anchorsOf(document: string): string[] {
  const headings = [
    ...read(document)
      .replace(/^```[\s\S]*?^```$/gm, '')
      .matchAll(/^#+ (.+)$/gm),
  ]
  return headings.map(([, heading]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  )
}

function isTransient(code: string): boolean {
  return new SluiceError(code as ErrorCode, '').transient
}
