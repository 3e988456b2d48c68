// Takes the screenshots of the documents, into docs/images or the folder that is named. Run it by hand after a change of a page, and check
// the pictures. The services run in this process. Their clock starts a week ago and moves as fast as checks can be made: hour by hour, then
// the last five minutes by the second.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { loadConfig, serve } from 'sluice-server'
import { preview } from 'vite'
import { buildDashboard, VITE_CONFIG } from '../../../scripts/build-dashboard.mjs'
import { findChromium } from '../../../scripts/find-chromium.mjs'

const IMAGES =
  process.argv[2] === undefined ? fileURLToPath(new URL('../../../docs/images/', import.meta.url)) : resolve(process.argv[2])
mkdirSync(IMAGES, { recursive: true })
const SECONDS = 300
const HOURS = 7 * 24

let behindMs = HOURS * 3_600_000 + SECONDS * 1000
const realNow = Date.now
Date.now = () => realNow() - behindMs

await buildDashboard()
const folder = mkdtempSync(join(tmpdir(), 'sluice-pictures-'))
let key = ''
const service = await start({ dataFolder: join(folder, 'alone') })
const executablePath = findChromium()
if (executablePath === undefined) throw new Error('there is no Chromium: SLUICE_CHROMIUM may name one')
const browser = await chromium.launch({
  executablePath,
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
})
try {
  await makePolicies()
  await makeWeek()
  await makeHistory()
  await takePictures()
  await takeFleet()
} finally {
  await browser.close()
  await service.close()
  rmSync(folder, { recursive: true, force: true })
}

/** @param {Readonly<Record<string, string>>} flags */
async function start(flags) {
  const { config } = await loadConfig({ flags: { listen: '127.0.0.1:0', logLevel: 'silent', drainDelay: '0s', ...flags } })
  const started = await serve({
    config,
    onFirstKey: (secret) => {
      key = secret
    },
  })
  await started.ready
  return started
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} body
 * @param {string} [address]
 */
async function call(method, path, body, address = service.address) {
  const headers = { 'api-key': key, 'content-type': 'application/json' }
  const response = await fetch(`${address}${path}`, { method, headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
}

async function makePolicies() {
  await call('PUT', '/v1/policies/default', { rules: '2000/minute' })
  const bucket = { algorithm: 'token-bucket', capacity: 20, refill: 5, every: '1s', name: 'burst' }
  const hourly = { algorithm: 'fixed-window', limit: 5000, window: '1h', name: 'hourly' }
  await call('PUT', '/v1/policies/orders', { route: '/v1/orders', rules: [bucket, hourly] })
  await call('PUT', '/v1/policies/search', { route: '/v1/search*', rules: '30/second' })
  await call('PUT', '/v1/policies/exports', {
    route: '/v1/exports',
    rules: { algorithm: 'sliding-log', limit: 40, window: '1m' },
  })
  const free = { algorithm: 'sliding-window', limit: 100, window: '1m' }
  await call('PUT', '/v1/policies/free-plan', { client: 'free-*', scope: 'policy', mode: 'shadow', rules: free })
}

/** Makes a week of checks, by the hour: more by day than by night, and one client that floods for an evening. */
async function makeWeek() {
  for (let hour = 0; hour < HOURS; hour++) {
    const count = Math.round(500 + 400 * Math.sin(((hour - 8) / 24) * 2 * Math.PI))
    const checks = Array.from({ length: count }, (_, i) => ({
      client_id: ['globex', 'acme', 'initech', 'hooli'][i % 4],
      route: i % 40 === 0 ? '/v1/orders' : '/v1/users',
    }))
    if (hour > 90 && hour < 96) for (let i = 0; i < 100; i++) checks.push({ client_id: 'umbrella', route: '/v1/exports' })
    for (let batch = 0; batch < 12; batch++) {
      await call('POST', '/v1/check/batch', { checks })
      behindMs -= 5 * 60_000
    }
  }
  behindMs = SECONDS * 1000
}

/** Makes five minutes of checks: a few busy clients, and one that floods orders for a while. */
async function makeHistory() {
  const clients = ['globex', 'acme', 'initech', 'hooli', 'free-17', 'umbrella', 'free-23', 'stark']
  const routes = ['/v1/users', '/v1/orders', '/v1/search', '/v1/exports']
  let seed = 7
  const random = () => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff
    return seed / 0x7fffffff
  }
  for (let second = 0; second < SECONDS; second++) {
    const count = Math.round(34 + 12 * Math.sin(second / 40) + 6 * random())
    const checks = Array.from({ length: count }, () => ({
      client_id: clients[Math.floor(random() ** 1.8 * clients.length)],
      route: routes[Math.floor(random() ** 2 * routes.length)],
    }))
    if (second > 215) for (let i = 0; i < 22; i++) checks.push({ client_id: 'acme', route: '/v1/orders' })
    await call('POST', '/v1/check/batch', { checks })
    behindMs = (SECONDS - 1 - second) * 1000
  }
  behindMs = 0
}

async function takePictures() {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } })
  await page.goto(service.address)
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('of checks are denied').waitFor()
  await page.waitForTimeout(500)
  await page.screenshot({ path: join(IMAGES, 'overview.png') })

  await page.getByRole('radio', { name: 'Week' }).check()
  await page.getByText('The last hour is still running.').waitFor()
  await page.waitForTimeout(500)
  await page.screenshot({ path: join(IMAGES, 'week.png') })

  await page.goto(`${service.address}/policies`)
  await page
    .getByText(/% denied/)
    .first()
    .waitFor()
  await page.screenshot({ path: join(IMAGES, 'policies.png') })

  await page.goto(`${service.address}/keys?search=policy.put`)
  await page.getByText('entries searched').waitFor()
  await page.screenshot({ path: join(IMAGES, 'audit.png') })

  await page.emulateMedia({ colorScheme: 'dark' })
  const flood = Array.from({ length: 40 }, (_, i) => ({ client_id: 'acme', route: i % 5 === 0 ? '/v1/exports' : '/v1/orders' }))
  await page.goto(`${service.address}/clients?client=acme`)
  await page.getByText('of 20 used').waitFor()
  for (let tries = 0; tries < 20 && (await page.getByText('20 of 20 used').count()) === 0; tries++) {
    await call('POST', '/v1/check/batch', { checks: flood })
    await page.waitForTimeout(250)
  }
  await page.screenshot({ path: join(IMAGES, 'client.png') })

  await page.emulateMedia({ colorScheme: 'light' })
  await page.goto(`${service.address}/policies?name=orders`)
  await page.getByLabel('Capacity').fill('40')
  await page.getByRole('img', { name: /^After the change:/ }).waitFor()
  await page.getByText('Added by').waitFor()
  const lastHour = page.getByRole('region', { name: "The last hour's traffic" })
  // The sample may lack the client that floods. Then nothing changes, and the pictures are taken again.
  await lastHour.getByText(/would be (newly|answered)/).waitFor()
  await page.screenshot({ path: join(IMAGES, 'policy.png') })
  await page.getByLabel('Capacity').fill('10')
  await lastHour.getByText('token bucket of 10').waitFor()
  await lastHour.screenshot({ path: join(IMAGES, 'last-hour.png') })

  await page.goto(`${service.address}/policies?name=free-plan`)
  await page.getByText('would have denied').first().waitFor()
  await page.getByRole('button', { name: 'Replay' }).click()
  await page.getByText('As if it were enforced').waitFor()
  await page.screenshot({ path: join(IMAGES, 'shadow.png') })

  const server = await preview({ configFile: VITE_CONFIG, logLevel: 'error', preview: { host: '127.0.0.1', port: 4900 } })
  const alone = await browser.newPage({ viewport: { width: 1280, height: 1020 } })
  await alone.goto(new URL('playground', server.resolvedUrls?.local[0]).href)
  await alone.locator('.lane-picture').first().waitFor()
  await alone.screenshot({ path: join(IMAGES, 'playground.png') })
  await server.close()
}

/** Three instances on one file of SQLite. */
async function takeFleet() {
  const store = `sqlite:${join(folder, 'fleet.db')}`
  const fleet = []
  for (const name of ['a', 'b', 'c']) fleet.push(await start({ store, dataFolder: join(folder, name) }))
  const rules = { algorithm: 'token-bucket', capacity: 400, refill: 30, every: '1s' }
  await call('PUT', '/v1/policies/default', { scope: 'policy', rules }, fleet[0].address)
  const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } })
  await page.goto(`${fleet[0].address}/fleet`)
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  for (let round = 0; round < 60; round++) {
    for (const [i, { address }] of fleet.entries()) {
      const checks = Array.from({ length: 20 + 7 * i + (round % 5) }, (_, at) => ({
        client_id: `client-${at % 3}`,
        route: '/v1/orders',
      }))
      await call('POST', '/v1/check/batch', { checks }, address)
    }
    await page.waitForTimeout(500)
  }
  await page.getByText('3 instances are up').waitFor()
  await page.screenshot({ path: join(IMAGES, 'fleet.png') })
  for (const instance of fleet) await instance.close()
}
