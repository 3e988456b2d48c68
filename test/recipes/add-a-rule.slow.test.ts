// The recipe "Add an algorithm" of CONTRIBUTING.md, followed in a copy of the sources: one folder, one line in the catalogue, one in
// the front door. Then the rule works in memory, on Redis, in a policy file, over HTTP and in the dashboard's forms.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPage, startBrowser } from '../../packages/dashboard/test/browser.ts'
import { startRedis } from '../servers/redis-server.mjs'
import { WorkspaceCopy } from './workspace-copy.mjs'

type Service = import('../servers/sluice-service.mjs').SluiceService

let copy: WorkspaceCopy
let service: Service
let browser: Browser

/** Puts a line before another one of a file, which must be there once. */
function insertLine(path: string, line: string, before: string): void {
  const parts = copy.read(path).split(`${before}\n`)
  expect(parts).toHaveLength(2)
  copy.write(path, `${parts[0]}${line}\n${before}\n${parts[1]}`)
}

beforeAll(async () => {
  copy = new WorkspaceCopy()
  const src = 'packages/sluice/src'
  copy.add(fileURLToPath(new URL('quiet-period', import.meta.url)), `${src}/algorithms/quiet-period`)
  const facts = `import { slidingLogFacts } from './sliding-log/facts.ts'`
  insertLine(`${src}/algorithms/catalogue.ts`, `import { quietPeriodFacts } from './quiet-period/facts.ts'`, facts)
  insertLine(`${src}/algorithms/catalogue.ts`, '  quietPeriodFacts,', '] as const')
  const maker = `export { type QuietPeriodOptions, quietPeriod } from './algorithms/quiet-period/quiet-period.ts'`
  insertLine(`${src}/index.ts`, maker, `export type { Clock, TimerClock } from './core/clock.ts'`)
  await copy.node(['scripts/derive.mjs'])
})

afterAll(async () => {
  await browser?.close()
  await service?.remove()
  copy?.remove()
})

/** Starts the service of the copy with a policy that has the rule. */
async function startService(): Promise<Service> {
  const file = join(copy.folder, 'sluice.yaml')
  writeFileSync(
    file,
    `policies:
  - name: tries
    route: /login
    rules:
      algorithm: quiet-period
      limit: 2
      pause: 1h
`,
  )
  const { startSluice } = await import(pathToFileURL(join(copy.folder, 'test/servers/sluice-service.mjs')).href)
  return startSluice({ args: ['--config', file] })
}

test('in the tables of the documents', () => {
  expect(copy.read('README.md')).toMatch(/^\| `quietPeriod` +\| a count that ends with a pause +\|/m)
  expect(copy.read('docs/reference/policies.md')).toMatch(/^\| `quiet-period` +\| `limit`, `pause` +\| `from`, `name` +\|/m)
})

test('in memory, by its function, in notation and from data', async () => {
  const program = `
    import { createLimiter, parseRule, quietPeriod } from 'sluice'
    import { makeRule } from 'sluice/rules'
    const rules = [
      quietPeriod({ limit: 2, pause: '1m' }),
      parseRule('quiet-period 2/minute'),
      makeRule({ algorithm: 'quiet-period', limit: 2, pause: '1m' }),
    ]
    for (const rule of rules) {
      const limiter = createLimiter({ rules: rule })
      console.log(rule.name, [1, 2, 3].map(() => limiter.hit('ada').allowed).join())
    }
  `
  const answers = 'quiet-period:2/1m true,true,false\n'.repeat(3)
  expect(await copy.node(['--input-type=module', '-e', program])).toBe(answers)
})

test('every store is tested with it: the suite in memory and on a real Redis', async () => {
  const redis = await startRedis()
  try {
    copy.write(
      'suite.mjs',
      `
      import { once } from 'node:events'
      import { Redis } from 'ioredis'
      import { memoryStore } from 'sluice'
      import { redisStore } from 'sluice/redis'
      import { storeSuite } from 'sluice/testing'
      let stores = 0
      const connectedStore = async (clock) => {
        const client = new Redis(Number(process.env.REDIS_PORT), '127.0.0.1')
        await once(client, 'ready')
        return Object.assign(redisStore(client, { clock, prefix: 'suite-' + stores++ }), { close: () => client.disconnect() })
      }
      storeSuite('memory', (clock) => memoryStore({ clock }), { steps: 300 })
      storeSuite('Redis', connectedStore, { steps: 300 })
    `,
    )
    const names = ['--test', '--test-reporter=tap', '--test-name-pattern=quiet-period']
    const told = await copy.node([...names, 'suite.mjs'], { REDIS_PORT: String(redis.port) })
    // Both forms on both stores: a walk, a walk with holds, a stampede, exact waits and two promises.
    expect(told.match(/^ +ok \d+ - [^#\n]*quiet-period[^#\n]*$/gm)?.length).toBe(2 * 2 * 6)
    expect(told).toMatch(/^# fail 0$/m)
  } finally {
    await redis.stop()
  }
})

test('in a policy file and over HTTP', async () => {
  service = await startService()
  const check = () => service.call('POST', '/v1/check', { client_id: 'ada', route: '/login' })
  expect([await check(), await check(), await check()].map(({ body }) => body.data.status)).toEqual(['Allow', 'Allow', 'Deny'])
  const refused = await service.call('PUT', '/v1/policies/more', {
    route: '/more',
    rules: { algorithm: 'quiet-period', limit: 2, pause: '1h', from: 'lost-hit' },
  })
  expect(refused.status).toBe(400)
  expect(JSON.stringify(refused.body)).toMatch(/rules.from must be .*last-hit.* or .*first-hit/)
  const { body } = await service.call('GET', '/openapi.json')
  const { Rule, QuietPeriodRule } = body.components.schemas
  expect(JSON.stringify(Rule)).toContain('#/components/schemas/QuietPeriodRule')
  expect(JSON.stringify(QuietPeriodRule)).toContain('quiet-period')
})

test("in the dashboard's list and form, in a real browser", async () => {
  browser = await startBrowser()
  const [page, errors] = await openPage(browser, `${service.url}/policies`)
  await page.getByLabel('API key').fill(service.key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('2 until quiet for 1h').waitFor()
  await page.getByRole('link', { name: 'New policy' }).click()
  await page.getByLabel('Algorithm of rule 1').selectOption({ label: 'Quiet period' })
  await page.getByLabel('Limit').fill('many')
  await page.getByText('quietPeriod needs limit to be a whole number of at least 1, got "many"').waitFor()
  await page.getByLabel('Limit').fill('3')
  await page.getByLabel('Pause', { exact: true }).fill('20m')
  await page.getByLabel('Pause counts from').selectOption({ label: 'the first hit' })
  expect(await page.getByLabel('Pause', { exact: true }).getAttribute('title')).toMatch(/^Time without hits/)
  await page.getByRole('textbox', { name: 'Route' }).fill('/reset')
  await page.getByLabel('Name', { exact: true }).fill('resets')
  await page.getByRole('button', { name: 'Review the change' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { level: 1, name: 'resets' }).waitFor()
  const { body } = await service.call('GET', '/v1/policies/resets')
  expect(body.data.rules).toEqual([{ algorithm: 'quiet-period', limit: 3, pause: '20m', from: 'first-hit' }])
  expect(errors).toEqual([])
})
