import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildDashboard } from '../../../scripts/build-dashboard.mjs'
import { expectAccessible, openPage, startBrowser } from './browser.ts'
import { type LiveService, startLiveService } from './live-service.ts'

/** Rules of axe for what this package adds to Swagger UI: colours and landmarks. Its buttons within buttons are its own. */
const RULES = ['color-contrast', 'landmark-one-main', 'landmark-unique', 'document-title', 'html-has-lang']

let browser: Browser
let service: LiveService

beforeAll(async () => {
  await buildDashboard()
  ;[browser, service] = await Promise.all([startBrowser(), startLiveService()])
})
afterAll(async () => {
  await browser.close()
  await service.stop()
})

test('the reference lists every operation, and loads nothing from elsewhere', async () => {
  const requested: string[] = []
  const context = await browser.newContext()
  context.on('request', (request) => requested.push(request.url()))
  const page = await context.newPage()
  const errors: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text())
  })
  await page.goto(`${service.address}/docs`)
  await page.getByText('/v1/check', { exact: true }).first().waitFor()
  const document = await (await fetch(`${service.address}/openapi.json`)).json()
  const operations = Object.values((document as { paths: object }).paths).flatMap((methods: object) => Object.keys(methods))
  await expect.poll(() => page.locator('.opblock').count()).toBe(operations.length)
  expect(requested.filter((url) => !url.startsWith(service.address) && !url.startsWith('data:'))).toEqual([])
  expect(errors).toEqual([])
})

test('somebody with a key tries a request, and sees the answer', async () => {
  const [page, errors] = await openPage(browser, `${service.address}/docs`)
  await page.getByRole('button', { name: 'Authorize', exact: true }).click()
  await page.getByLabel('auth-bearer-value').fill(service.key)
  await page.getByLabel('Apply credentials').last().click()
  await page.getByRole('button', { name: 'Close' }).first().click()
  await page.locator('#operations-deciding-check .opblock-summary-control').click()
  await page.locator('#operations-deciding-check textarea').fill('{"client_id":"ada","route":"/"}')
  await page.getByRole('button', { name: 'Execute' }).click()
  await expect.poll(() => page.locator('.live-responses-table').textContent()).toContain('"status": "Allow"')
  expect(errors).toEqual([])
})

test('the colours are those of the theme', async () => {
  const [page] = await openPage(browser, `${service.address}/docs`, { colorScheme: 'dark' })
  await page.getByText('/v1/check', { exact: true }).first().waitFor()
  const isDark = () => page.evaluate('document.documentElement.classList.contains("dark-mode")')
  expect(await isDark()).toBe(true)
  await expectAccessible(page, RULES)
  await page.emulateMedia({ colorScheme: 'light' })
  await expect.poll(isDark).toBe(false)
  await expectAccessible(page, RULES)
})
