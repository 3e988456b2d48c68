// Changing a limit in the pages: the last hour's traffic under a policy that is not saved yet, and the report of a policy in shadow mode.

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildDashboard } from '../../../scripts/build-dashboard.mjs'
import { expectAccessibleInBoth, openPage, startBrowser } from './browser.ts'
import { type ForcedFont, forceFont } from './forced-font.ts'
import { cutShort, expectWellLaidOut } from './layout.ts'
import { type LiveService, startLiveService } from './live-service.ts'

/** Names of the largest length, with and without a place to break. */
const LONG_CLIENT = 'c'.padEnd(256, 'w')
const LONG_POLICY = 'policy-'.padEnd(64, 'w')
const LONG_RULE = 'rule-'.padEnd(64, 'w')

/** A laptop, a tablet, a phone. */
const WIDTHS = [1280, 768, 360]

let browser: Browser
let service: LiveService

beforeAll(async () => {
  await buildDashboard()
  ;[browser, service] = await Promise.all([startBrowser(), startLiveService({ keysRequired: 'false' })])
  await service.call('PUT', '/v1/policies/orders', {
    route: '/v1/orders',
    rules: { algorithm: 'fixed-window', limit: 100, window: '1h', name: 'hourly' },
  })
  await service.call('PUT', '/v1/policies/trial', { client: 'free-*', mode: 'shadow', scope: 'policy', rules: '2/hour' })
  await service.call('PUT', `/v1/policies/${LONG_POLICY}`, {
    client: 'c*',
    mode: 'shadow',
    rules: { algorithm: 'fixed-window', limit: 2, window: '1h', name: LONG_RULE },
  })
  await service.check('acme', '/v1/orders', 40)
  await service.check('globex', '/v1/orders', 10)
  await service.check('free-1', '/v1/users', 7)
  await service.check('free-2', '/v1/users', 3)
  await service.check(LONG_CLIENT, '/v1/users', 12)
})

afterAll(async () => {
  await browser?.close()
  await service?.stop()
})

const lastHour = (page: Page) => page.getByRole('region', { name: "The last hour's traffic" })
const report = (page: Page) => page.getByRole('region', { name: 'In shadow mode' })

async function openPolicy(name: string, of = service): Promise<[Page, string[]]> {
  const [page, errors] = await openPage(browser, `${of.address}/policies?name=${name}`)
  await page.getByRole('heading', { level: 1, name }).waitFor()
  return [page, errors]
}

describe('before a policy is saved', () => {
  test('a change is replayed by itself: what changes, by which rule, for whom, and the smallest limits', async () => {
    const [page, errors] = await openPolicy('orders')
    await lastHour(page).getByText('See whom a change would hit').waitFor()
    await page.getByLabel('Limit').fill('8')
    await lastHour(page).getByText('34 checks of 2 clients would be newly denied.').waitFor()
    const rows = (await lastHour(page).getByRole('row').allInnerTexts()).map((row) => row.split(/\s+/).join(' '))
    expect(rows).toEqual([
      'Checks Now After the change',
      'Allowed 72 38',
      'Denied 0 34',
      'Client Checks Newly denied',
      'acme 40 32',
      'globex 10 2',
    ])
    await lastHour(page).getByText('denies 34 checks of 2 clients').waitFor()
    const limits = await lastHour(page).locator('.smallest dd').allInnerTexts()
    expect(limits).toEqual(['40', '40', '40'])
    await lastHour(page).getByRole('img', { name: 'The last hour, now: 0 of 72 checks denied' }).waitFor()
    await lastHour(page).getByRole('img', { name: 'The last hour, after the change: 34 of 72 checks denied' }).waitFor()
    await lastHour(page).getByText('72 checks of 5 clients under all policies').waitFor()
    await expectAccessibleInBoth(page)
    await page.getByRole('button', { name: 'Review the change …' }).click()
    await page
      .getByRole('dialog')
      .getByText("With the last hour's traffic: 34 checks of 2 clients would be newly denied.")
      .waitFor()
    await page.keyboard.press('Escape')
    await page.getByLabel('Limit').fill('40')
    await lastHour(page).getByText('All 72 checks would be answered as they are now.').waitFor()
    expect(await lastHour(page).locator('.smallest .fits').getByText('is reached').count()).toBe(3)
    // Nothing was changed, and nothing was counted.
    expect((await service.call('GET', '/v1/policies/orders')).rules[0].limit).toBe(100)
    expect((await service.call('GET', '/v1/usage?client_id=acme&route=/v1/orders')).rules[0].used).toBe(40)
    expect(errors).toEqual([])
    await page.context().close()
  })

  test('a policy that is not changed is replayed when one asks, by keyboard', async () => {
    const [page] = await openPolicy('orders')
    const replay = lastHour(page).getByRole('button', { name: 'Replay' })
    await replay.focus()
    await page.keyboard.press('Enter')
    await lastHour(page).getByText('All 72 checks would be answered as they are now.').waitFor()
    await lastHour(page).getByRole('button', { name: 'Replay again' }).waitFor()
    await page.context().close()
  })

  test('quick typing asks once, and a policy that cannot be right yet says why', async () => {
    const [page] = await openPage(browser, `${service.address}/policies?new=1`)
    let asked = 0
    page.on('request', (request) => {
      if (request.url().endsWith('/v1/simulate')) asked += 1
    })
    await page.getByRole('textbox', { name: 'Client' }).fill('free-*')
    await lastHour(page).getByText('No picture of the change: route must be').waitFor()
    expect(asked).toBe(1)
    await page.getByRole('textbox', { name: 'Route' }).pressSequentially('/v1/users', { delay: 5 })
    await lastHour(page).getByText('would be answered as they are now').waitFor()
    expect(asked).toBeLessThanOrEqual(3)
    await page.getByLabel('Capacity').fill('many')
    await lastHour(page).getByText('until its rules are right').waitFor()
    expect(await lastHour(page).getByRole('button', { name: 'Replay again' }).isDisabled()).toBe(true)
    await page.context().close()
  })

  test('a replay that takes long is stopped by a button, and is in nobody’s way', async () => {
    const [page] = await openPolicy('orders')
    const ended: string[] = []
    page.on('requestfailed', (request) => ended.push(request.url()))
    const isLast = (body: string | null) => body?.includes('"limit":39') ?? false
    await page.route('**/v1/simulate', (route) => (isLast(route.request().postData()) ? route.continue() : undefined))
    await page.getByLabel('Limit').fill('9')
    const isAsked = page.waitForRequest('**/v1/simulate')
    await lastHour(page).getByText('Replaying').waitFor()
    await isAsked
    expect(await page.getByRole('button', { name: 'Review the change …' }).isEnabled()).toBe(true)
    await lastHour(page).getByRole('button', { name: 'Stop' }).click()
    await lastHour(page).getByText('See whom a change would hit').waitFor()
    await expect.poll(() => ended.length, { timeout: 15_000 }).toBe(1)
    // Another change ends the one before it.
    await page.getByLabel('Limit').fill('10')
    await page.waitForRequest('**/v1/simulate')
    await page.getByLabel('Limit').fill('39')
    await lastHour(page).getByText('1 check of 1 client would be newly denied.').waitFor()
    await expect.poll(() => ended.length, { timeout: 15_000 }).toBe(2)
    await page.context().close()
  })

  test('while the service replays for somebody else, the page waits and asks again', async () => {
    const [page] = await openPolicy('orders')
    let isBusy = true
    await page.route('**/v1/simulate', async (route) => {
      if (!isBusy) return route.continue()
      isBusy = false
      await route.fulfill({ status: 503, json: { meta: { error: 'ERR_BUSY', message: 'busy' }, data: null } })
    })
    await page.getByLabel('Limit').fill('39')
    await lastHour(page).getByText('1 check of 1 client would be newly denied.').waitFor()
    expect(isBusy).toBe(false)
    await page.context().close()
  })

  test('without traffic it says so, and names the other way', async () => {
    const quiet = await startLiveService({ keysRequired: 'false' })
    await quiet.call('PUT', '/v1/policies/orders', { route: '/v1/orders', rules: '5/minute' })
    const [page] = await openPolicy('orders', quiet)
    await lastHour(page).getByRole('button', { name: 'Replay' }).click()
    await lastHour(page).getByText('This instance has decided no check in the last hour.').waitFor()
    await lastHour(page).getByText('sluice simulate').waitFor()
    await page.context().close()
    await quiet.stop()
  })

  test('a bounded sample of one of several instances is said to be one', async () => {
    const [page] = await openPolicy('orders')
    await page.route('**/v1/simulate', async (route) => {
      const response = await route.fetch()
      const { meta, data } = await response.json()
      const sample = { ...data.sample, share: 0.25, decided: 5000, missed: 3, instances_up: 4, instance: 'web-2' }
      await route.fulfill({ response, json: { meta, data: { ...data, sample } } })
    })
    await lastHour(page).getByRole('button', { name: 'Replay' }).click()
    await lastHour(page)
      .getByText(/of 5,000 that were decided\. It has one in 4 clients\./)
      .waitFor()
    await lastHour(page).getByText('3 checks of very busy clients did not fit.').waitFor()
    await lastHour(page)
      .getByText('4 instances are up, and each keeps the checks that it decides: these are those of web-2.')
      .waitFor()
    await page.context().close()
  })
})

describe('in shadow mode', () => {
  test('the report says since when, how often, by which rule and to whom, for whoever may look', async () => {
    const secured = await startLiveService()
    await secured.call('PUT', '/v1/policies/trial', { client: 'free-*', mode: 'shadow', scope: 'policy', rules: '2/hour' })
    const [page] = await openPage(browser, `${secured.address}/policies?name=trial`)
    await page.getByLabel('API key').fill(await secured.newKey('reader', 'read'))
    await page.keyboard.press('Enter')
    await report(page).getByText('In shadow mode it has decided no check yet.').waitFor()
    await secured.check('free-1', '/v1/users', 7)
    await secured.check('free-2', '/v1/users', 3)
    await report(page)
      .getByText(/it has decided 10 checks in shadow mode, and would have denied 6 of them \(60%\)/)
      .waitFor()
    const rows = (await report(page).getByRole('row').allInnerTexts()).map((row) => row.split(/\s+/).join(' '))
    expect(rows).toEqual(['Rule Would have denied', 'rule-1 6', 'Client Would have denied', 'free-1 5', 'free-2 1'])
    expect(await report(page).getByRole('button', { name: 'Enforce …' }).count()).toBe(0)
    expect(await lastHour(page).count()).toBe(0)
    await page.context().close()
    await secured.stop()
  })

  test('sums of several instances are named, and those that are missing', async () => {
    const [page] = await openPolicy('trial')
    await page.route('**/v1/policies/trial/shadow*', async (route) => {
      const response = await route.fetch()
      const { meta, data } = await response.json()
      const other = { id: 'web-2', self: false, since: null, checks: 0, denied: 0 }
      const clients = [{ client_id: 'free-9', denied: 12, error: 2 }]
      const more = { instances: [...data.instances, other], uncounted_instances: 1, clients, unlisted_at_most: 3 }
      await route.fulfill({ response, json: { meta, data: { ...data, ...more } } })
    })
    await report(page).getByText('Sums of 2 instances, without 1 instance that cannot tell').click()
    await report(page).getByText('web-2: no check yet').waitFor()
    await report(page).getByText('10 to 12').waitFor()
    await report(page).getByText('Any other client: at most 3.').waitFor()
    await page.context().close()
  })

  test('a replay is that of the enforced policy, and a button enforces it, asked twice and written down', async () => {
    const [page, errors] = await openPolicy('trial')
    await report(page).getByText('would have denied 6 of them').waitFor()
    await lastHour(page).getByRole('button', { name: 'Replay' }).click()
    await lastHour(page).getByText('6 checks of 2 clients would be newly denied.').waitFor()
    await lastHour(page).getByText('As if it were enforced.').waitFor()
    await expectAccessibleInBoth(page)
    await report(page).getByRole('button', { name: 'Enforce …' }).focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Enforce trial?' })
    await dialog.getByText('would have denied 6 of them').waitFor()
    expect(await dialog.locator('.removed').allTextContents()).toEqual(['− removed: mode: shadow'])
    expect(await dialog.locator('.added').allTextContents()).toEqual(['+ added: mode: enforce'])
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect((await service.call('GET', '/v1/policies/trial')).mode).toBe('shadow')
    await report(page).getByRole('button', { name: 'Enforce …' }).click()
    await dialog.getByRole('button', { name: 'Enforce' }).click()
    await dialog.waitFor({ state: 'detached' })
    await report(page).waitFor({ state: 'detached' })
    expect((await service.call('GET', '/v1/policies/trial')).mode).toBe('enforce')
    const { entries } = await service.call('GET', '/v1/audit?target=trial&limit=1')
    expect(entries[0]).toMatchObject({ action: 'policy.put', before: { mode: 'shadow' }, after: { mode: 'enforce' } })
    const answer = await service.call('POST', '/v1/check', { client_id: 'free-1', route: '/v1/users' })
    expect(answer).toMatchObject({ status: 'Deny', policy: 'trial' })
    expect(errors).toEqual([])
    await page.context().close()
  })

  test('what another person changed since is not enforced', async () => {
    await service.call('PUT', '/v1/policies/other', { client: 'other', mode: 'shadow', rules: '2/hour' })
    const [page] = await openPolicy('other')
    await report(page).getByRole('button', { name: 'Enforce …' }).click()
    await service.call('PUT', '/v1/policies/other', { client: 'other', mode: 'shadow', rules: '1/hour' })
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Enforce' }).click()
    await dialog.getByText('Somebody has changed this policy since you opened it.').waitFor()
    expect((await service.call('GET', '/v1/policies/other')).mode).toBe('shadow')
    await page.context().close()
  })
})

describe.each(['wide', 'narrow'] as const)('with a %s font', (font: ForcedFont) => {
  test('nothing sticks out of both panels at any width, with the longest names', async () => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    await forceFont(context, font)
    const page = await context.newPage()
    page.setDefaultTimeout(15_000)
    await page.goto(`${service.address}/policies?name=${LONG_POLICY}`)
    await report(page).getByText('would have denied').first().waitFor()
    await report(page).locator('summary').click()
    await page.getByLabel('Limit').fill('1')
    await lastHour(page).getByText('would be newly denied').waitFor()
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 })
      await expectWellLaidOut(page, `at ${width}`)
      expect(await cutShort(page, '.last-hour .number, .last-hour dd, .shadow-report .number'), `at ${width}`).toEqual([])
    }
    await report(page).getByRole('button', { name: 'Enforce …' }).click()
    await page.getByRole('dialog').getByText('would have denied').waitFor()
    await expectWellLaidOut(page, 'the dialog')
    await context.close()
  })
})
