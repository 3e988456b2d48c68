// The library as an application gets it: packed, installed from the file into an empty folder, without a network. The programs
// below see only the files of the package.

import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { transform } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

let folder: string

/** Environment of this process without variables that would tell a vitest in the folder that it is a worker of this one. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_ENV|TEST$|SEED$)/.test(name)))

/** Runs Node in the folder. Returns what it printed; rejects with it if the program fails. */
async function node(...args: string[]): Promise<string> {
  return (await promisify(execFile)(process.execPath, args, { cwd: folder, env })).stdout
}

const write = (file: string, text: string): void => writeFileSync(join(folder, file), text)

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-installed-'))
  const npm = (...args: string[]) => promisify(execFile)('npm', args, { cwd: folder, env })
  await npm('pack', '--silent', '--pack-destination', folder, join(root, 'packages/sluice'))
  const [packed] = readdirSync(folder)
  write('package.json', '{ "name": "application", "private": true, "type": "module" }')
  await npm('install', '--offline', '--silent', '--no-audit', '--no-fund', `./${packed}`)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('it is installed without anything else, and without the sources of this repository', () => {
  expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['sluice'])
  expect(readdirSync(join(folder, 'node_modules/sluice')).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json', 'src'])
})

describe("the README's first example", () => {
  const [, example] = /^```ts\n([\s\S]*?)^```$/m.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? ['', '']
  const shown = [...example.matchAll(/\/\/ → (.*)$/gm)].map(([, text]) => `${text}\n`).join('')

  test('is found, with what it prints', () => {
    expect(example).toContain(`from 'sluice'`)
    expect(shown.split('\n').length).toBeGreaterThan(2)
  })

  test('runs as JavaScript', async () => {
    write('first.js', (await transform(example, { loader: 'ts' })).code)
    expect(await node('first.js')).toBe(shown)
  })

  test('compiles as strict TypeScript without the types of Node, and runs', async () => {
    const compilerOptions = {
      strict: true,
      target: 'es2022',
      lib: ['es2022', 'dom'],
      types: [],
      module: 'nodenext',
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      outDir: 'built',
    }
    write('first.ts', example)
    write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['first.ts'] }))
    await node(join(root, 'node_modules/typescript/bin/tsc'), '-p', '.').catch(({ stdout }) => expect.fail(stdout))
    expect(await node('built/first.js')).toBe(shown)
  })
})

test('the memory store passes the suite of sluice/testing under vitest', async () => {
  write(
    'memory.test.js',
    `import { memoryStore } from 'sluice'
    import { storeSuite } from 'sluice/testing'
    storeSuite('memory', (clock) => memoryStore({ clock }), { steps: 100 })`,
  )
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const result = JSON.parse(await node(vitest, 'run', '--root', folder, '--globals', '--reporter=json'))
  expect(result).toMatchObject({ success: true, numFailedTests: 0, numPendingTests: 0 })
  expect(result.numPassedTests).toBeGreaterThan(100)
})

test('a dump goes through a file into another process, which counts on', async () => {
  const limiterOn = (store: string): string =>
    `createLimiter({ rules: [slidingLog({ limit: 5, window: '1h' }), tokenBucket({ capacity: 9, refill: 1, every: '1d' })], store: ${store} })`
  const names = 'createLimiter, dumpStore, memoryStore, restoreStore, slidingLog, tokenBucket'
  write(
    'dump.js',
    `import { writeFileSync } from 'node:fs'
    import { ${names} } from 'sluice'
    const store = memoryStore()
    const limiter = ${limiterOn('store')}
    limiter.hit('ada', { cost: 3 })
    limiter.hit('bob', { cost: 5 })
    writeFileSync('counts.dump', dumpStore(store))`,
  )
  write(
    'restore.js',
    `import { readFileSync } from 'node:fs'
    import { ${names} } from 'sluice'
    const store = restoreStore(readFileSync('counts.dump'))
    const limiter = ${limiterOn('store')}
    const left = (key) => limiter.hit(key).rules.map(({ remaining }) => remaining)
    console.log(JSON.stringify([store.size, left('ada'), limiter.hit('bob').allowed, left('new')]))`,
  )
  await node('dump.js')
  expect(JSON.parse(await node('restore.js'))).toEqual([4, [1, 5], false, [4, 8]])
})
