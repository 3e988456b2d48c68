// Every page and flow of the dashboard, in a real browser against a live service with real checks.

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildDashboard } from '../../../scripts/build-dashboard.mjs'
import { startRedis } from '../../../test/servers/redis-server.mjs'
import { expectAccessibleInBoth, expectNoSidewaysScroll, openPage, startBrowser } from './browser.ts'
import { type LiveService, startLiveService } from './live-service.ts'

const HOSTILE = '<img src=x onerror="document.title=\'taken over\'">'

let browser: Browser
let service: LiveService
/** A page signed in as admin, shared by the tests. */
let admin: Page
let errors: string[]

beforeAll(async () => {
  await buildDashboard()
  ;[browser, service] = await Promise.all([startBrowser(), startLiveService()])
  await service.call('PUT', '/v1/policies/orders', {
    route: '/v1/orders',
    rules: [
      { algorithm: 'token-bucket', capacity: 5, refill: 1, every: '1h', name: 'burst' },
      { algorithm: 'fixed-window', limit: 1000, window: '1d', name: 'daily' },
    ],
  })
  await service.call('PUT', '/v1/policies/trial', { client: 'free-*', mode: 'shadow', scope: 'policy', rules: '2/hour' })
  await service.check('acme', '/v1/orders', 12)
  await service.check(HOSTILE, '/v1/orders', 8)
  await service.check('free-1', '/v1/users', 4)
  await service.check('globex', '/v1/users', 20)
  ;[admin, errors] = await openPage(browser, service.address)
  await signIn(admin, service.key)
})

afterAll(async () => {
  await browser?.close()
  await service?.stop()
})

/** Polls for up to 15 seconds, so that a busy machine does not fail the test. */
const soon = <T>(look: () => T) => expect.poll(look, { timeout: 15_000 })

async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
}

/** Opens a page by its link, without a reload. */
async function go(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
}

describe('signing in', () => {
  test('asks for a key that may look, says why one will not do, and remembers where one wanted to go', async () => {
    const [page] = await openPage(browser, `${service.address}/policies?search=tri`)
    await page.getByLabel('API key').fill('sluice_wrong')
    await page.keyboard.press('Enter')
    await page.getByText('This key is not known').waitFor()
    await page.getByLabel('API key').fill('ключ')
    await page.keyboard.press('Enter')
    await page.getByText('This key is not known').waitFor()
    await page.getByLabel('API key').fill(await service.newKey('checker', 'check'))
    await page.keyboard.press('Enter')
    await page.getByText('it needs the scope read or admin').waitFor()
    await signIn(page, service.key)
    await page.getByRole('link', { name: 'trial' }).waitFor()
    const [cookie] = await page.context().cookies()
    expect(cookie).toMatchObject({ name: 'sluice_session', httpOnly: true, sameSite: 'Strict', path: '/' })
    expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie]))).not.toContain('sluice_')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.context().close()
  })

  test('too often with the wrong key is limited', async () => {
    const limited = await startLiveService()
    const [page] = await openPage(browser, limited.address)
    for (let i = 0; i < 21; i++)
      await page.evaluate((i) => fetch('/v1/session', { method: 'POST', headers: { 'api-key': `guess-${i}` } }), i)
    await page.getByLabel('API key').fill('sluice_guess')
    await page.keyboard.press('Enter')
    await page.getByText('Too many tries').waitFor()
    await page.context().close()
    await limited.stop()
  })
})

describe('overview', () => {
  test('says what is wrong and who is affected, with the numbers of the service', async () => {
    await go(admin, 'Overview')
    await admin.getByText(/% of checks are denied/).waitFor()
    const limited = admin.getByRole('region', { name: 'Clients limited most' })
    await limited.getByRole('link', { name: 'acme' }).waitFor()
    const { clients } = await service.call('GET', '/v1/top?by=denied')
    expect(await limited.getByRole('img', { name: 'Denied to acme over the last hour' }).locator('path').count()).toBe(1)
    const rows = (await limited.getByRole('row').allTextContents()).slice(1)
    expect(rows).toEqual(clients.map(({ client_id, count }: { client_id: string; count: number }) => `${client_id}${count}`))
    const row = admin.getByRole('region', { name: 'Policies that deny most' }).getByRole('row', { name: 'orders' })
    const { policies } = await service.call('GET', '/v1/stats')
    const { denied } = policies.find(({ name }: { name: string }) => name === 'orders')
    expect(await row.getByRole('cell').nth(2).textContent()).toBe(String(denied))
    await admin.getByText('Store: memory').waitFor()
    await admin.getByRole('radio', { name: 'Hour' }).check()
    expect(
      await admin
        .getByRole('img', { name: /Decisions over time/ })
        .locator('canvas')
        .count(),
    ).toBe(1)
  })

  test.each([
    ['Day', 'Decisions each hour', 24],
    ['Week', 'Decisions each hour', 168],
    ['Month', 'Decisions each day', 744],
  ])('a %s is a choice away, with the numbers of the service', async (span, title, hours) => {
    await go(admin, 'Overview')
    await admin.getByRole('radio', { name: span }).check()
    await admin.getByRole('heading', { name: title }).waitFor()
    await admin.getByText(/The last (hour|day) is still running\. This instance counts since .*, its start\./).waitFor()
    const { denied } = await service.call('GET', `/v1/history?hours=${hours}`)
    const sum = denied.reduce((total: number, count: number) => total + count, 0)
    await admin.getByRole('img', { name: new RegExp(`Decisions over time: .*\\b${sum} denied`) }).waitFor()
    const row = admin.getByRole('region', { name: 'Policies that deny most' }).getByRole('row', { name: 'orders' })
    await row.getByRole('img', { name: 'Denied by orders over time' }).locator('path').waitFor()
    // The choice is part of the address, so that it can be sent to somebody.
    await admin.reload()
    await soon(() => admin.getByRole('radio', { name: span }).isChecked()).toBe(true)
  })

  test('a service without a check shows how to make the first one, by the keyboard too', async () => {
    const fresh = await startLiveService()
    const [page] = await openPage(browser, fresh.address, { permissions: ['clipboard-read', 'clipboard-write'] })
    await signIn(page, fresh.key)
    await page.getByText('No check since the start.').waitFor()
    await expectAccessibleInBoth(page)
    await page.getByRole('button', { name: 'Copy the command' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('Copied').first().waitFor()
    const command = await page.evaluate(() => navigator.clipboard.readText())
    expect(command).toContain(`curl ${fresh.address}/v1/check -H "Api-Key: $SLUICE_API_KEY"`)
    const { stdout } = await promisify(execFile)('sh', ['-c', `${command} -s`], {
      env: { ...process.env, SLUICE_API_KEY: fresh.key },
    })
    expect(JSON.parse(stdout).data).toMatchObject({ status: 'Allow' })
    await page.getByText('All is well').waitFor()
    await soon(() => page.getByText('No check since the start.').count()).toBe(0)
    await page.context().close()
    await fresh.stop()
  })

  test('says that the store is down, and who answers instead', async () => {
    const redis = await startRedis()
    const onRedis = await startLiveService({ store: `redis://127.0.0.1:${redis.port}` })
    const [page] = await openPage(browser, onRedis.address)
    await signIn(page, onRedis.key)
    await page.getByText('All is quiet').waitFor()
    await redis.stop()
    await onRedis.check('ada', '/', 5)
    await page.getByText('The store does not answer').waitFor()
    await page.getByText('Each instance counts for itself until it is back.').waitFor()
    await page.context().close()
    await onRedis.stop()
  })

  test('a Redis that lost policies and keys is said on every page, with the command that mends it, until it is mended', async () => {
    const redis = await startRedis()
    const onRedis = await startLiveService({ store: `redis://127.0.0.1:${redis.port}` })
    const [page, problems] = await openPage(browser, onRedis.address)
    await signIn(page, onRedis.key)
    await page.getByText('All is quiet').waitFor()
    const banner = page.getByRole('alert').filter({ hasText: 'The store has lost policies or keys' })
    expect(await banner.count()).toBe(0)
    await redis.cli('FLUSHALL')
    await banner.waitFor()
    for (const name of ['Live', 'Clients', 'Policies', 'Keys and audit', 'Overview']) {
      await go(page, name)
      await banner.getByText('sluice records restore').waitFor()
      await banner.getByText('nothing can be changed').waitFor()
    }
    await expectAccessibleInBoth(page)
    await page.setViewportSize({ width: 360, height: 800 })
    await expectNoSidewaysScroll(page)
    await onRedis.call('POST', '/v1/records/restore', {})
    await banner.waitFor({ state: 'detached' })
    expect(problems).toEqual([])
    await page.context().close()
    await onRedis.stop()
    await redis.stop()
  })
})

describe('clients', () => {
  test('one client’s use of each rule, and why it was denied', async () => {
    await go(admin, 'Clients')
    await admin.getByRole('searchbox', { name: 'Client' }).fill('acme')
    await admin.keyboard.press('Enter')
    await admin.getByRole('heading', { level: 1, name: 'acme' }).waitFor()
    const usage = admin.getByRole('listitem').filter({ has: admin.getByRole('heading', { name: '/v1/orders' }) })
    await usage.getByText('5 of 5 used').waitFor()
    await usage.getByText('5 of 1,000 used').waitFor()
    await usage.getByText(/next passes in (1 h|5\d min)/).waitFor()
    const denials = admin.getByRole('region', { name: 'Denials' })
    await denials
      .getByText(/burst is used up: 0 of 5 left, passes in (1 h|5\d min)/)
      .first()
      .waitFor()
    await soon(() => denials.getByRole('listitem').count()).toBe(7)
    await admin.getByLabel('Another route').fill('/v1/users')
    await admin.keyboard.press('Enter')
    await admin.getByText('0 of 100 used').waitFor()
  })

  test('a count over all routes is shown once, with the routes that it counts', async () => {
    await service.check('free-7', '/v1/items', 3)
    await service.check('free-7', '/v1/carts', 3)
    const [page] = await openPage(browser, `${service.address}/clients?client=free-7`)
    await signIn(page, service.key)
    const usage = page.getByRole('region', { name: 'Usage by route' })
    const shared = usage.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'All routes' }) })
    await shared.getByText('/v1/items').waitFor()
    await shared.getByText('/v1/carts').waitFor()
    await soon(() => usage.getByText('2 of 2 used').count()).toBe(1)
    expect(await shared.count()).toBe(1)
    await shared.getByRole('button', { name: 'Reset' }).click()
    await page.getByRole('dialog').getByText('has used on all routes under the policy').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Reset' }).click()
    await shared.getByText('0 of 2 used').waitFor()
    await page.context().close()
  })

  test.each([
    ['local', 'These are the counters of one instance.', true],
    ['deny', 'Nothing is counted.', false],
  ])('failure mode %s is named, and numbers are shown only if they are of this client', async (fallback, said, hasBars) => {
    const [page] = await openPage(browser, `${service.address}/clients?client=nina`)
    await page.route('**/v1/usage?*', async (route) => {
      const response = await route.fetch()
      const { meta, data } = await response.json()
      await route.fulfill({ response, json: { meta, data: { ...data, fallback } } })
    })
    await signIn(page, service.key)
    await page.getByLabel('Another route').fill('/v1/users')
    await page.keyboard.press('Enter')
    // Routes of policies are listed as well.
    const usage = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: '/v1/users' }) })
    await usage.getByText(`The store does not answer. ${said}`).waitFor()
    expect((await usage.locator('.rule-bar').count()) > 0).toBe(hasBars)
    await page.context().close()
  })

  test('a count is given back and reset by an admin, asked twice, and written down', async () => {
    const usage = admin.getByRole('listitem').filter({ has: admin.getByRole('heading', { name: '/v1/orders' }) })
    await usage.getByRole('button', { name: 'Give back' }).click()
    const dialog = admin.getByRole('dialog')
    await dialog.getByLabel('Units, of 5 used').fill('x')
    await dialog.getByRole('button', { name: 'Give back' }).click()
    await dialog.getByText(/cost must be a whole number of at least 1, got "x"/).waitFor()
    await dialog.getByLabel('Units, of 5 used').fill('2')
    await dialog.getByRole('button', { name: 'Give back' }).click()
    await usage.getByText('3 of 5 used').waitFor()
    await usage.getByRole('button', { name: 'Reset' }).click()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await usage.getByText('3 of 5 used').waitFor()
    await usage.getByRole('button', { name: 'Reset' }).click()
    await dialog.getByRole('button', { name: 'Reset' }).click()
    await usage.getByText('0 of 5 used').waitFor()
    const { entries } = await service.call('GET', '/v1/audit?limit=2')
    expect(entries).toMatchObject([
      { action: 'counter.reset', target: 'acme /v1/orders' },
      { action: 'counter.refund', target: 'acme /v1/orders', after: { cost: 2 } },
    ])
  })

  test('open holds are listed, and an admin cancels one, asked twice, and written down', async () => {
    await service.call('PUT', '/v1/policies/chat', {
      client: 'holder',
      route: '/v1/chat',
      rules: [
        { algorithm: 'fixed-window', limit: 10_000, window: '1d', name: 'tokens' },
        { algorithm: 'concurrency', limit: 3, ttl: '10m', name: 'places' },
      ],
    })
    const request = { client_id: 'holder', route: '/v1/chat' }
    const { token } = await service.call('POST', '/v1/reserve', { ...request, hold: { tokens: 4000 } })
    await service.call('POST', '/v1/reserve', { ...request, hold: { tokens: 70 } })
    await admin.goto(`${service.address}/clients?client=holder`)
    const holds = admin.getByRole('region', { name: 'Open holds' })
    await holds.getByText('tokens: 4,000, places: 1').waitFor()
    await holds.getByText('tokens: 70, places: 1').waitFor()
    await holds.getByText('Holds that this instance opened').waitFor()
    await expectAccessibleInBoth(admin)
    await expectNoSidewaysScroll(admin)
    await holds.getByRole('listitem').filter({ hasText: '4,000' }).getByRole('button', { name: 'Cancel' }).click()
    const dialog = admin.getByRole('dialog', { name: 'Cancel this hold?' })
    await dialog.getByText('nothing is charged').waitFor()
    await dialog.getByRole('button', { name: 'Cancel the hold' }).click()
    await dialog.waitFor({ state: 'detached' })
    await holds.getByRole('listitem').filter({ hasText: '4,000' }).waitFor({ state: 'detached' })
    await expect(service.call('POST', '/v1/settle', { token })).rejects.toThrow('settled or cancelled')
    const { entries } = await service.call('GET', '/v1/audit?limit=1')
    expect(entries[0]).toMatchObject({ action: 'hold.cancel', target: 'holder /v1/chat' })
    await service.call('DELETE', '/v1/policies/chat')
  })

  test('a client is blocked in two clicks, with an end and a reason, and unblocked again', async () => {
    await admin.goto(`${service.address}/clients?client=mallory`)
    await admin.getByRole('button', { name: 'Block this client …' }).click()
    const dialog = admin.getByRole('dialog')
    await dialog.getByLabel('Reason', { exact: true }).fill('floods the search')
    await expectAccessibleInBoth(admin)
    await dialog.getByRole('button', { name: 'Block' }).click()
    await admin.getByText(/^Blocked until .*: floods the search$/).waitFor()
    const denied = await service.call('POST', '/v1/check', { client_id: 'mallory', route: '/v1/users' })
    expect(denied).toMatchObject({ status: 'Deny', policy: 'block:mallory' })
    await admin.getByRole('button', { name: 'Unblock …' }).click()
    await dialog.getByRole('button', { name: 'Unblock' }).click()
    await admin.getByRole('button', { name: 'Block this client …' }).waitFor()
    expect(await service.call('POST', '/v1/check', { client_id: 'mallory', route: '/v1/users' })).toMatchObject({
      status: 'Allow',
    })
    await admin.getByRole('link', { name: 'New policy for this client' }).click()
    await soon(() => admin.getByLabel('Client', { exact: true }).inputValue()).toBe('mallory')
  })

  test('its checks over the last hour are drawn, with the numbers of the service', async () => {
    await service.check('rater', '/v1/orders', 9)
    await admin.goto(`${service.address}/clients?client=rater`)
    const rate = admin.getByRole('region', { name: 'Checks over time' })
    await rate.getByText('5 checks allowed and 4 denied by this instance.').waitFor()
    await rate.getByRole('img', { name: 'Decisions over time: 0 errors, 4 denied, 0 shadow-denied, 5 allowed' }).waitFor()
    await service.check('rater', '/v1/orders', 2)
    await rate.getByText('5 checks allowed and 6 denied by this instance.').waitFor()
    await admin.goto(`${service.address}/clients?client=never-seen`)
    await rate.getByText('No check of this client in the last hour.').waitFor()
    expect(await rate.getByText('may be missing').count()).toBe(0)
  })

  test('a client that is lost among many is told to be so', async () => {
    const crowded = await startLiveService({ keysRequired: 'false' })
    const clients = Array.from({ length: 900 }, (_, i) => ({ client_id: `client-${i}`, route: '/' }))
    for (let round = 0; round < 3; round++) await crowded.call('POST', '/v1/check/batch', { checks: clients })
    const [page] = await openPage(browser, `${crowded.address}/clients?client=client-899`)
    const { allowed_missing_at_most } = await crowded.call('GET', '/v1/activity?client_id=client-899')
    expect(allowed_missing_at_most).toBeGreaterThan(0)
    await page.getByText(`up to ${allowed_missing_at_most} allowed and 0 denied checks of this one may be missing here`).waitFor()
    await page.context().close()
    await crowded.stop()
  })

  test('a client with a name made of HTML is a name', async () => {
    await go(admin, 'Clients')
    await admin.getByRole('region', { name: 'Denied most' }).getByRole('link', { name: HOSTILE }).click()
    await admin.getByRole('heading', { level: 1, name: HOSTILE }).waitFor()
    await go(admin, 'Live')
    await admin.getByRole('link', { name: HOSTILE }).first().waitFor()
    await go(admin, 'Overview')
    await admin.getByRole('link', { name: HOSTILE }).first().waitFor()
    expect(await admin.locator('img[src="x"]').count()).toBe(0)
    await soon(() => admin.title()).toBe('Overview · Sluice')
  })
})

describe('policies', () => {
  const review = () => admin.getByRole('button', { name: 'Review the change' })
  const dialog = () => admin.getByRole('dialog')

  test('one is made: what is wrong is said, and what it would do is drawn, before it is saved', async () => {
    await go(admin, 'Policies')
    await admin.getByRole('link', { name: 'New policy' }).click()
    await admin.getByText('Behind a proxy the route is the path').waitFor()
    await admin.getByText('each client over all routes').click()
    await admin.getByText('A client has the limit once').waitFor()
    await admin.getByText('each client and route').click()
    await admin.getByRole('textbox', { name: 'Route' }).fill('/v1/exports')
    await admin.getByLabel('Algorithm of rule 1').selectOption('sliding-log')
    await admin.getByLabel('Limit').fill('many')
    await admin.getByText('slidingLog needs limit to be a whole number of at least 1, got "many"').waitFor()
    expect(await review().isDisabled()).toBe(true)
    await admin.getByLabel('Limit').fill('3')
    await admin.getByLabel('Window').fill('1h')
    await admin.getByRole('img', { name: /What it would do: \d+% of hits allowed/ }).waitFor()
    await admin.getByLabel('Name', { exact: true }).fill('no spaces please')
    await review().click()
    await dialog().getByRole('button', { name: 'Save' }).click()
    await admin
      .getByRole('alert')
      .getByText(/a name of 1 to 64 letters/)
      .waitFor()
    await admin.getByLabel('Name', { exact: true }).fill('exports')
    await review().click()
    await dialog().getByText('route: /v1/exports').waitFor()
    await dialog().getByRole('button', { name: 'Save' }).click()
    await admin.getByRole('heading', { level: 1, name: 'exports' }).waitFor()
    expect(await service.call('GET', '/v1/policies/exports')).toMatchObject({
      route: '/v1/exports',
      rules: [{ algorithm: 'sliding-log', limit: 3, window: '1h' }],
      mode: 'enforce',
    })
    await service.check('acme', '/v1/exports', 4)
    expect((await service.call('GET', '/v1/usage?client_id=acme&route=/v1/exports')).rules).toMatchObject([{ used: 3, limit: 3 }])
  })

  test('one is changed: now and after side by side, then the difference, then the history', async () => {
    await admin.getByLabel('Limit').fill('6')
    await admin.getByRole('img', { name: /^Now: \d+% of hits/ }).waitFor()
    await admin.getByRole('img', { name: /^After the change: \d+% of hits/ }).waitFor()
    await review().click()
    await dialog().locator('.removed').waitFor()
    expect(await dialog().locator('.removed').allTextContents()).toEqual(['− removed:     limit: 3'])
    expect(await dialog().locator('.added').allTextContents()).toEqual(['+ added:     limit: 6'])
    await dialog().getByRole('button', { name: 'Save' }).click()
    await dialog().waitFor({ state: 'detached' })
    await admin.getByText(/Changed by first-admin/).waitFor()
    await admin.getByText(/Added by first-admin/).waitFor()
    expect((await service.call('GET', '/v1/policies/exports')).rules[0].limit).toBe(6)
    expect((await service.call('GET', '/v1/usage?client_id=acme&route=/v1/exports')).rules).toMatchObject([{ used: 3, limit: 6 }])
  })

  test('a policy that another person has changed since is not overwritten', async () => {
    await service.call('PUT', '/v1/policies/exports', {
      route: '/v1/exports',
      rules: { algorithm: 'sliding-log', limit: 7, window: '1h' },
    })
    await admin.getByLabel('Limit').fill('8')
    await review().click()
    await dialog().getByRole('button', { name: 'Save' }).click()
    await dialog().getByText('Somebody has changed this policy since you opened it.').waitFor()
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    expect((await service.call('GET', '/v1/policies/exports')).rules[0].limit).toBe(7)
  })

  test('a new one does not take the place of one that has its name', async () => {
    await go(admin, 'Policies')
    await admin.getByRole('link', { name: 'New policy' }).click()
    await admin.getByRole('textbox', { name: 'Client' }).fill('another')
    await admin.getByLabel('Name', { exact: true }).fill('exports')
    await review().click()
    await dialog().getByRole('button', { name: 'Save' }).click()
    await dialog().getByText('There is a policy called exports already').waitFor()
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    expect((await service.call('GET', '/v1/policies/exports')).client).toBe('*')
  })

  test('one goes from enforce to shadow and back in the list', async () => {
    await go(admin, 'Policies')
    await admin.getByRole('button', { name: 'Put in shadow exports' }).click()
    await dialog().getByRole('button', { name: 'Put in shadow' }).click()
    await admin.getByRole('button', { name: 'Enforce exports' }).waitFor()
    expect((await service.call('GET', '/v1/policies/exports')).mode).toBe('shadow')
    await admin.getByRole('button', { name: 'Enforce exports' }).click()
    await dialog().getByRole('button', { name: 'Enforce' }).click()
    await admin.getByRole('button', { name: 'Put in shadow exports' }).waitFor()
  })

  test('one is deleted, asked twice', async () => {
    await admin.getByRole('link', { name: 'exports' }).click()
    await admin.getByRole('button', { name: 'Delete' }).click()
    await dialog().getByRole('button', { name: 'Delete' }).click()
    await admin.getByRole('heading', { level: 1, name: 'Policies' }).waitFor()
    await soon(() => admin.getByRole('link', { name: 'exports' }).count()).toBe(0)
  })

  test('the list has the checks of each policy in the last hour or month, and who saw none', async () => {
    await service.call('PUT', '/v1/policies/idle', { client: 'nobody', rules: '1/day' })
    await go(admin, 'Policies')
    const row = (name: string) => admin.getByRole('row', { name: new RegExp(`^${name} `) })
    const { policies } = await service.call('GET', '/v1/stats')
    const { allowed, denied } = policies.find(({ name }: { name: string }) => name === 'orders')
    const share = `${allowed + denied}${Math.round((denied / (allowed + denied)) * 100)}% denied`
    for (const span of ['last month', 'last hour']) {
      await admin.getByRole('radio', { name: span }).check()
      await soon(() => row('orders').getByRole('cell').nth(4).textContent()).toBe(share)
      await row('idle').getByText('no checks').waitFor()
    }
    await service.call('DELETE', '/v1/policies/idle')
  })

  test('above a hundred policies the list says that some are not counted', async () => {
    const many = await startLiveService({ keysRequired: 'false' })
    const names = Array.from({ length: 103 }, (_, i) => `p${String(i).padStart(3, '0')}`)
    for (const name of names) await many.call('PUT', `/v1/policies/${name}`, { client: name, rules: '9/day' })
    await many.call('POST', '/v1/check/batch', { checks: names.map((client_id) => ({ client_id, route: '/' })) })
    const [page] = await openPage(browser, `${many.address}/policies?search=p10`)
    await page.getByText('More than 100 policies were in use at once').waitFor()
    await page.getByText('not counted').first().waitFor()
    await page.context().close()
    await many.stop()
  })

  test('a layer is typed: conditions, keys, an end; it stands in the list', async () => {
    await admin.goto(`${service.address}/policies?new=1`)
    await admin.getByLabel('Name', { exact: true }).fill('free-plan')
    await admin.getByLabel('Route', { exact: true }).fill('*')
    await admin.getByRole('button', { name: 'Add a condition' }).click()
    await admin.getByLabel('Attribute 1').fill('plan')
    await admin.getByLabel('Pattern 1').fill('free')
    await admin.getByText('always', { exact: true }).click()
    await admin.getByText('other keys').click()
    await admin.getByRole('textbox', { name: 'Keys' }).fill('org')
    await admin.getByRole('button', { name: 'tomorrow 08:00' }).click()
    await expectAccessibleInBoth(admin)
    await admin.getByRole('button', { name: 'Review the change …' }).click()
    await admin.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await soon(async () => (await service.call('GET', '/v1/policies/free-plan')).per).toBe('org')
    expect(await service.call('GET', '/v1/policies/free-plan')).toMatchObject({ where: { plan: 'free' }, applies: 'always' })
    await go(admin, 'Policies')
    await admin.getByText('if plan: free').waitFor()
    await service.call('DELETE', '/v1/policies/free-plan')
  })

  test('a calendar is typed: its time zone is checked, and it stands in the list', async () => {
    await go(admin, 'Policies')
    await admin.getByRole('link', { name: 'New policy' }).click()
    await admin.getByRole('textbox', { name: 'Route' }).fill('/v1/reports')
    await admin.getByLabel('Name', { exact: true }).fill('reports')
    await admin.getByLabel('Algorithm of rule 1').selectOption('calendar-window')
    await admin.getByLabel('Limit').fill('3')
    await admin.getByLabel('Every').selectOption('month')
    await admin.getByLabel('Starts on').fill('31')
    await admin.getByText(/needs startsOn to be a day from 1 to 28/).waitFor()
    await admin.getByLabel('Starts on').fill('15')
    await admin.getByLabel('Time zone').fill('Europe/Berlim')
    await admin.getByText(/needs timeZone to be the name of a time zone .* got "Europe\/Berlim"/).waitFor()
    expect(await admin.getByLabel('Time zone').getAttribute('aria-invalid')).toBe('true')
    expect(await review().isDisabled()).toBe(true)
    await admin.getByLabel('Time zone').fill('Europe/Berlin')
    await admin.getByRole('img', { name: /What it would do: \d+% of hits allowed/ }).waitFor()
    await review().click()
    await dialog().getByRole('button', { name: 'Save' }).click()
    await admin.getByRole('heading', { level: 1, name: 'reports' }).waitFor()
    expect((await service.call('GET', '/v1/policies/reports')).rules).toEqual([
      { algorithm: 'calendar-window', limit: 3, every: 'month', startsOn: 15, timeZone: 'Europe/Berlin' },
    ])
    await service.check('acme', '/v1/reports', 4)
    expect((await service.call('GET', '/v1/usage?client_id=acme&route=/v1/reports')).rules).toMatchObject([{ used: 3, limit: 3 }])
    await go(admin, 'Policies')
    await admin.getByText('3 every calendar month from 15, Europe/Berlin').waitFor()
    await service.call('DELETE', '/v1/policies/reports')
  })

  test('a rule of limit 0 is saved: it denies every request, and says so before', async () => {
    await admin.goto(`${service.address}/policies?new=1`)
    await admin.getByLabel('Name', { exact: true }).fill('closed')
    await admin.getByRole('textbox', { name: 'Route' }).fill('/v1/closed')
    await admin.getByLabel('Algorithm of rule 1').selectOption('fixed-window')
    await admin.getByLabel('Limit').fill('0')
    await admin.getByText('A limit of 0 denies every request that this policy matches.').waitFor()
    await review().click()
    await dialog().getByText('limit: 0').waitFor()
    await dialog().getByRole('button', { name: 'Save' }).click()
    await admin.getByRole('heading', { level: 1, name: 'closed' }).waitFor()
    const answer = await service.call('POST', '/v1/check', { client_id: 'acme', route: '/v1/closed' })
    expect(answer).toMatchObject({ status: 'Deny', policy: 'closed' })
    await admin.goto(`${service.address}/clients?client=acme&route=/v1/closed`)
    const usage = admin.getByRole('listitem').filter({ has: admin.getByRole('heading', { name: '/v1/closed' }) })
    await usage.getByText('denied', { exact: true }).waitFor()
    await service.call('DELETE', '/v1/policies/closed')
  })

  test('ten thousand are listed and searched as quickly as ten, and those of a file cannot be changed here', async () => {
    const file = join(tmpdir(), `sluice-pages-${process.pid}.yaml`)
    const policies = Array.from({ length: 10_000 }, (_, i) => `  - { name: p${i}, route: /r${i}, rules: 10/minute }`)
    writeFileSync(file, `policies:\n${policies.join('\n')}\n`)
    const many = await startLiveService({ config: file })
    const [page] = await openPage(browser, `${many.address}/policies`)
    await signIn(page, many.key)
    await page.getByText('10,001 policies').waitFor()
    expect(await page.getByRole('row').count()).toBe(101)
    await page.getByRole('button', { name: 'Show more' }).click()
    await soon(() => page.getByRole('row').count()).toBe(201)
    const startMs = Date.now()
    await page.getByRole('searchbox').fill('/r9999')
    await page.getByText('1 policy', { exact: true }).waitFor()
    expect(Date.now() - startMs).toBeLessThan(2000)
    await page.getByRole('link', { name: 'p9999' }).click()
    await page.getByText('This policy comes from the configuration file').waitFor()
    expect(await page.getByRole('textbox', { name: 'Route' }).isDisabled()).toBe(true)
    await page.context().close()
    await many.stop()
  })
})

describe('live', () => {
  test('shows decisions as they are made, filtered, and holds still when paused', async () => {
    await go(admin, 'Live')
    const tail = admin.getByRole('region', { name: 'Decisions' })
    await admin.getByText('connected', { exact: true }).waitFor()
    await service.check('streamer', '/v1/users', 3)
    await tail
      .getByRole('row', { name: /allowed streamer \/v1\/users default/ })
      .first()
      .waitFor()
    await admin.getByText('newest first').waitFor()
    const outcomes = (await tail.getByRole('row').allTextContents()).slice(1).map((row) => /allowed|denied/.exec(row)?.[0])
    expect(outcomes.slice(0, 3)).toEqual(['allowed', 'allowed', 'allowed'])
    expect(outcomes).toContain('denied')
    await admin.getByRole('searchbox').fill('acme')
    await admin.getByRole('radio', { name: 'Denied' }).check()
    await soon(
      async () => new Set((await tail.getByRole('row').allTextContents()).slice(1).map((row) => /denied(acme)/.exec(row)?.[1])),
    ).toEqual(new Set(['acme']))
    await admin.getByRole('searchbox').fill('')
    await admin.getByRole('radio', { name: 'All', exact: true }).check()
    await admin.getByRole('button', { name: 'Pause' }).click()
    const rows = await tail.getByRole('row').count()
    await service.check('late', '/v1/orders', 9)
    await admin.getByText(/[1-9]\d* waiting/).waitFor()
    expect(await tail.getByRole('row').count()).toBe(rows)
    expect(await tail.getByRole('link', { name: 'late' }).count()).toBe(0)
    await admin.getByRole('button', { name: 'Go on' }).click()
    await tail.getByRole('link', { name: 'late' }).first().waitFor()
  })

  test('a thousand events a second leave the page bounded and quick', async () => {
    let isOver = false
    const flood = async (client: string) => {
      while (!isOver) await service.check(client, '/v1/flood', 500)
    }
    await service.call('PUT', '/v1/policies/flooded', { client: 'flood-denied', rules: '1/day', scope: 'policy' })
    await service.call('PUT', '/v1/policies/open', { client: 'flood-allowed', rules: '1000000000/day', scope: 'policy' })
    const floods = Promise.all([flood('flood-denied'), flood('flood-allowed')])
    const { events, frames } = await admin.evaluate(async () => {
      let events = 0
      const source = new EventSource('/v1/events')
      source.addEventListener('check', () => {
        events += 1
      })
      await new Promise((resolve) => source.addEventListener('open', resolve))
      const frames: number[] = []
      let last = performance.now()
      const end = last + 3000
      while (last < end) {
        await new Promise(requestAnimationFrame)
        frames.push(performance.now() - last)
        last = performance.now()
      }
      source.close()
      return { events, frames: frames.sort((a, b) => a - b) }
    })
    isOver = true
    await floods
    expect(events).toBeGreaterThan(2000)
    expect(frames[frames.length >> 1]).toBeLessThan(100)
    expect(frames.at(-1)).toBeLessThan(1000)
    expect(await admin.getByRole('region', { name: 'Decisions' }).getByRole('row').count()).toBeLessThanOrEqual(101)
    // The next event reports the number of events that were left out.
    const sampleNote = admin.getByText(/[1-9][\d,]* left out of the sample/)
    await soon(async () => {
      await service.check('flood-denied', '/v1/flood')
      return sampleNote.count()
    }).toBe(1)
  })
})

describe('keys and audit', () => {
  test('a key is made and shown once, replaced, and revoked', async () => {
    await go(admin, 'Keys and audit')
    await admin.getByRole('button', { name: 'New key' }).click()
    const dialog = admin.getByRole('dialog')
    await dialog.getByLabel('Name').fill('grafana')
    await dialog.getByRole('radio', { name: 'Read' }).check()
    await dialog.getByRole('button', { name: 'Make the key' }).click()
    const secret = (await dialog.locator('.secret').textContent()) ?? ''
    const asks = async (key: string) => (await fetch(`${service.address}/v1/stats`, { headers: { 'api-key': key } })).status
    expect(await asks(secret)).toBe(200)
    await dialog.getByRole('button', { name: 'Done' }).click()
    const row = admin.getByRole('row', { name: /grafana/ })
    await row.getByText('read', { exact: true }).waitFor()
    expect(await admin.content()).not.toContain(secret)

    await row.getByRole('button', { name: 'Replace grafana' }).click()
    await dialog.getByRole('radio', { name: 'at once' }).check()
    await dialog.getByRole('button', { name: 'Make the new key' }).click()
    const second = (await dialog.locator('.secret').textContent()) ?? ''
    await dialog.getByRole('button', { name: 'Done' }).click()
    expect([await asks(secret), await asks(second)]).toEqual([401, 200])

    await admin.getByRole('button', { name: /^Revoke grafana/ }).click()
    await dialog.getByRole('button', { name: 'Revoke' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await asks(second)).toBe(401)
    await admin.getByRole('row', { name: /grafana.*revoked/ }).waitFor()
    const audit = admin.getByRole('region', { name: 'Audit log' })
    const expectNamed = async (action: string, name: string): Promise<void> => {
      const cells = await audit.getByRole('row', { name: action }).first().getByRole('cell').allTextContents()
      expect([cells[1], cells[2], cells[3].slice(0, name.length)]).toEqual(['first-admin', action, name])
    }
    const { entries } = await service.call('GET', '/v1/audit?limit=1')
    await audit.getByTitle(`grafana (${entries[0].target})`).first().waitFor()
    for (const action of ['key.create', 'key.rotate', 'key.revoke']) await expectNamed(action, 'grafana')
    expect(await audit.getByText('session.start').count()).toBe(0)
    await audit.getByText('Sign-ins').click()
    await audit.getByText('session.start').first().waitFor()
    await expectNamed('session.start', 'first-admin')
    expect(await audit.getByText('key.revoke').count()).toBe(0)
  })
})

describe('audit log', () => {
  const audit = () => admin.getByRole('region', { name: 'Audit log' })
  const rows = async () => (await audit().getByRole('row').count()) - 1

  test('is searched by action, target and names of keys, and narrowed to one target', async () => {
    const { secret, key } = await service.call('POST', '/v1/keys', { name: 'Deploy bot', scopes: ['admin'] })
    const put = (name: string) =>
      fetch(`${service.address}/v1/policies/${name}`, {
        method: 'PUT',
        headers: { 'api-key': secret, 'content-type': 'application/json' },
        body: JSON.stringify({ client: name, rules: '1/day' }),
      })
    await put('searched-one')
    await put('searched-two')
    await service.call('DELETE', '/v1/policies/searched-one')
    await go(admin, 'Keys and audit')
    await admin.getByRole('searchbox').fill('deploy BOT')
    // Two changes by the key, and the one that made it.
    await soon(rows).toBe(3)
    await audit().getByText('key.create').waitFor()
    await audit().getByText('entries searched').waitFor()
    await admin.getByRole('searchbox').fill('searched-')
    await soon(rows).toBe(3)
    await audit().getByRole('button', { name: 'Only entries about searched-one' }).first().focus()
    await admin.keyboard.press('Enter')
    await audit().getByText('Only entries about').first().waitFor()
    await soon(rows).toBe(2)
    await expectAccessibleInBoth(admin)
    await admin.reload()
    await soon(rows).toBe(2)
    await audit().getByRole('button', { name: 'Show all' }).click()
    await soon(rows).toBe(3)
    await admin.getByRole('searchbox').fill('nobody was here')
    await audit().getByText('None of these entries fits.').waitFor()
    await admin.getByRole('searchbox').fill('')
    await soon(rows).toBeGreaterThan(3)
    await service.call('DELETE', '/v1/policies/searched-two')
    await service.call('DELETE', `/v1/keys/${key.id}`)
  })

  test('is read page by page, also while it is searched', async () => {
    const long = await startLiveService({ keysRequired: 'false' })
    await long.call('PUT', '/v1/policies/first', { client: 'a', rules: '1/day' })
    for (let i = 0; i < 60; i++) await long.call('POST', '/v1/reset', { client_id: `paged-${i}`, route: '/' })
    const [page] = await openPage(browser, `${long.address}/keys`)
    const listed = async () => (await page.getByRole('region', { name: 'Audit log' }).getByRole('row').count()) - 1
    await soon(listed).toBe(50)
    await page.getByRole('button', { name: 'Show older' }).click()
    await page.getByText('policy.put').waitFor()
    await page.getByRole('searchbox').fill('PAGED')
    await page.getByRole('button', { name: 'Search older entries' }).click()
    await soon(listed).toBe(60)
    expect(await page.getByText('policy.put').count()).toBe(0)
    await page.context().close()
    await long.stop()
  })
})

describe('fleet', () => {
  test('an instance alone is shown as one, and why', async () => {
    await go(admin, 'Fleet')
    await admin.getByText('One instance is up').waitFor()
    await admin.getByText('Its store is its own memory, so there is no other.').waitFor()
    const rows = admin.getByRole('region', { name: 'Instances' }).getByRole('row')
    await soon(() => rows.count()).toBe(2)
    const { instances } = await service.call('GET', '/v1/fleet')
    await rows.nth(1).getByText(instances[0].id).waitFor()
    await rows.nth(1).getByText('this one').waitFor()
  })

  test('instances on one database are shown together, and one that stops is said to', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-fleet-'))
    const store = `sqlite:${join(folder, 'shared.db')}`
    const one = await startLiveService({ store, keysRequired: 'false' })
    const two = await startLiveService({ store, keysRequired: 'false' })
    await one.check('ada', '/', 20)
    await two.check('ada', '/', 30)
    const [page, problems] = await openPage(browser, `${one.address}/fleet`)
    await page.getByText('2 instances are up').waitFor({ timeout: 30_000 })
    const figure = (title: string) => page.locator('.figure', { has: page.getByText(title, { exact: true }) }).locator('dd')
    await expect.poll(() => figure('Checks').textContent(), { timeout: 30_000 }).toBe('50')
    expect(await figure('Instances up').textContent()).toBe('2')
    await page.getByRole('region', { name: 'Busiest policies' }).getByRole('row', { name: 'default 50' }).waitFor()
    await expectAccessibleInBoth(page)
    await two.stop()
    const instances = page.getByRole('region', { name: 'Instances' })
    await instances.getByText('stopped').waitFor({ timeout: 30_000 })
    await page.getByText('No other instance uses its store.').waitFor()
    await soon(() => figure('Checks').textContent()).toBe('20')
    expect(problems).toEqual([])
    await page.context().close()
    await one.stop()
    rmSync(folder, { recursive: true, force: true })
  })
})

test('a read key can look and not touch', async () => {
  const [page, wrong] = await openPage(browser, service.address)
  await signIn(page, await service.newKey('viewer', 'read'))
  await page.getByText('looks only').waitFor()
  await go(page, 'Policies')
  await page.getByRole('link', { name: 'orders' }).waitFor()
  expect(await page.getByRole('button').allTextContents()).not.toContain('Shadow …')
  expect(await page.getByRole('link', { name: 'New policy' }).count()).toBe(0)
  await page.getByRole('link', { name: 'orders' }).click()
  await page.getByText('To change them, sign in with an admin key.').waitFor()
  expect(await page.getByLabel('Capacity').isDisabled()).toBe(true)
  await page.goto(`${service.address}/clients?client=acme&route=/v1/orders`)
  await page.getByText(/of 5 used/).waitFor()
  expect(await page.getByRole('button', { name: 'Reset' }).count()).toBe(0)
  await go(page, 'Keys and audit')
  await page.getByText('Keys and the audit log are for admins.').waitFor()
  expect(wrong).toEqual([])
  await page.context().close()
})

test('the keyboard goes everywhere', async () => {
  await admin.goto(service.address)
  await admin.getByRole('navigation', { name: 'Pages' }).waitFor()
  await admin.keyboard.press('Tab')
  expect(await admin.evaluate(() => document.activeElement?.textContent)).toBe('To the page')
  await admin.keyboard.press('Tab')
  await admin.keyboard.press('Tab')
  await admin.keyboard.press('Enter')
  await admin.getByRole('heading', { level: 1, name: 'Live' }).waitFor()
  await soon(() => admin.evaluate(() => document.activeElement?.id)).toBe('main')
  await admin.goBack()
  await admin.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
})

const PAGES = [
  ['/', 'Clients limited most'],
  ['/?seconds=2678400', 'The last day is still running'],
  ['/live', 'acme'],
  ['/fleet', 'this one'],
  ['/clients', 'acme'],
  ['/clients?client=acme&route=/v1/orders', 'of 5 used'],
  ['/policies', 'trial'],
  ['/policies?name=orders', 'Added by'],
  ['/policies?new=1', 'What it would do'],
  ['/keys', 'key.create'],
  ['/keys?search=key.&of=changes', 'searched'],
  ['/playground', 'most in any 10 s'],
] as const

test.each(PAGES)('axe finds nothing wrong on %s in light and dark, and nothing sticks out on a phone', async (path, content) => {
  await admin.goto(`${service.address}${path}`)
  // The live page shows only events that arrive after it has connected.
  if (path === '/live') {
    await expect
      .poll(
        async () => {
          await service.check('acme', '/v1/orders', 3)
          return admin.getByText(content).first().isVisible()
        },
        { timeout: 15_000 },
      )
      .toBe(true)
  }
  await admin.getByText(content).first().waitFor()
  await expectAccessibleInBoth(admin)
  for (const width of [390, 820, 2200]) {
    await admin.setViewportSize({ width, height: 900 })
    await expectNoSidewaysScroll(admin)
  }
  await admin.setViewportSize({ width: 1280, height: 800 })
})

test('the sign-in page passes axe too', async () => {
  const [page] = await openPage(browser, service.address)
  await page.getByLabel('API key').waitFor()
  await expectAccessibleInBoth(page)
  await page.context().close()
})

test('no page said anything into the console, nor broke its Content-Security-Policy', () => {
  expect(errors).toEqual([])
})

test('a service that goes away is said, and what was known stays in view', async () => {
  const brief = await startLiveService()
  const [page] = await openPage(browser, brief.address)
  await signIn(page, brief.key)
  await page.getByText('All is quiet').waitFor()
  await brief.stop()
  await page.getByText('What is shown is what was known last.').waitFor()
  await page.getByText('All is quiet').waitFor()
  await page.context().close()
})
