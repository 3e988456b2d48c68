// CONTRIBUTING.md, "Add a framework": follows the recipe for a toy, which is Koa under another name.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ROOT, replaceWords, WorkingCopy } from './working-copy.ts'

const TOY = { koaLimiter: 'toyLimiter', KoaContext: 'ToyContext', KoaMiddleware: 'ToyMiddleware', koaAdapter: 'toyAdapter' }
const SRC = 'packages/sluice/src/middleware'
const TESTS = 'packages/sluice/test/middleware'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let copy: WorkingCopy

beforeAll(() => {
  copy = new WorkingCopy()
  // 1. A file, copied from koa.ts.
  copy.copySibling(`${SRC}/koa.ts`, `${SRC}/toy.ts`, { ...TOY, 'sluice/koa': 'sluice/toy' })
  // 2. A door.
  copy.change('packages/sluice/package.json', (text) => {
    const manifest = JSON.parse(text)
    manifest.exports['./toy'] = JSON.parse(replaceWords(JSON.stringify(manifest.exports['./koa']), { 'koa.': 'toy.' }))
    return JSON.stringify(manifest)
  })
  // 3. The set-up of the framework, its line in the suite, and its types.
  copy.copySibling(`${TESTS}/frameworks/koa.ts`, `${TESTS}/frameworks/toy.ts`, {
    ...TOY,
    'middleware/koa.ts': 'middleware/toy.ts',
    'const koa:': 'const toy:',
    "name: 'koa'": "name: 'toy'",
  })
  copy.change(`${TESTS}/middleware.test.ts`, (text) => {
    const withToy = text.replace('fastify, koa,', 'fastify, koa, toy,')
    return withToy === text ? text : `import { toy } from './frameworks/toy.ts'\n${withToy}`
  })
  copy.change(`${TESTS}/types.test.ts`, (text) => {
    const [koa] = /^test\('Koa'[\s\S]*?^}\)\n/m.exec(text) ?? []
    const toy = replaceWords(String(koa), { ...TOY, "'Koa'": "'Toy'" })
    return `import { toyLimiter } from '../../src/middleware/toy.ts'\n${text}\n${toy}`
  })
  // 4. A program, and a file of the bench.
  copy.copySibling('examples/koa.mjs', 'examples/toy.mjs', { ...TOY, 'sluice/koa': 'sluice/toy' })
  const bench = 'packages/bench/http/frameworks'
  copy.copySibling(`${bench}/koa.mjs`, `${bench}/toy.mjs`, { ...TOY, 'sluice/koa': 'sluice/toy' })
  copy.compile('-b', 'packages/sluice')
})

afterAll(() => copy?.remove())

test('it compiles, with the types of its framework', () => {
  const include = [`${SRC}/toy.ts`, `${TESTS}/**/*.ts`]
  copy.write('tsconfig.toy.json', JSON.stringify({ extends: './tsconfig.test.json', include }))
  copy.compile('-p', 'tsconfig.toy.json')
})

test('it passes the suite that all frameworks pass', () => {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const printed = copy.run(vitest, 'run', `${TESTS}/middleware.test.ts`, '--testNamePattern', "^'toy'", '--reporter', 'json')
  const { success, numPassedTests } = JSON.parse(printed)
  expect(success).toBe(true)
  expect(numPassedTests).toBeGreaterThan(20)
})

test('the bench takes it up without another line', () => {
  const listing =
    "import('./packages/bench/http/frameworks.mjs').then(async ({ loadFramework }) => console.log((await loadFramework('toy')).servers[0].call))"
  expect(copy.run('--input-type=module', '--eval', listing)).toBe('app.use(toyLimiter({ rules }))\n')
})

test('its program runs', async () => {
  const child = spawn(process.execPath, ['examples/toy.mjs'], { cwd: copy.folder, env: { ...process.env, PORT: '0' } })
  try {
    const [line] = await once(createInterface({ input: child.stdout }), 'line')
    const { status, headers } = await fetch(String(line).replace('listening on ', ''))
    expect([status, headers.get('ratelimit-policy')]).toEqual([200, expect.stringContaining('today')])
  } finally {
    child.kill()
  }
})
