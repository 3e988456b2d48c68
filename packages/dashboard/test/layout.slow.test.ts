// The layout of every page, with a wide font and with a narrow one, and with the longest names that the service accepts.

import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildDashboard } from '../../../scripts/build-dashboard.mjs'
import { startBrowser } from './browser.ts'
import { type DrawnText, recordDrawnText } from './drawn-text.ts'
import { FONT_SCALES, type ForcedFont, forceFont } from './forced-font.ts'
import { brokenWords, cutShort, expectWellLaidOut, places } from './layout.ts'
import { type LiveService, startLiveService } from './live-service.ts'

const longest = (start: string, length: number) => start + 'w'.repeat(length - start.length)

/** Names of the largest length, with and without a place to break. */
const CLIENTS = [longest('unbroken-', 256), longest('spaced ', 256), 'many words in a name '.repeat(13).slice(0, 256)]
const [CLIENT] = CLIENTS
const ROUTE = longest('/v1/', 256)
const POLICY = longest('policy-', 64)
const RULES = [
  { algorithm: 'token-bucket', capacity: 5, refill: 1, every: '1h', name: longest('burst-', 64) },
  { algorithm: 'fixed-window', limit: 1_000_000, window: '30d', name: longest('monthly-', 64) },
]

/** A laptop, the narrowest page with a menu at its side, a tablet, a phone. */
const WIDTHS = [1280, 1000, 768, 360]

let browser: Browser
let service: LiveService

beforeAll(async () => {
  await buildDashboard()
  ;[browser, service] = await Promise.all([startBrowser(), startLiveService()])
  await service.call('PUT', `/v1/policies/${POLICY}`, { client: CLIENT, route: ROUTE, rules: RULES })
  await service.call('PUT', '/v1/policies/orders', {
    route: '/v1/orders',
    rules: RULES.map((rule) => ({ ...rule, name: rule.algorithm })),
  })
  await service.call('PUT', '/v1/policies/plan', { client: 'spaced*', mode: 'shadow', scope: 'policy', rules: '2/hour' })
  for (const client of CLIENTS) await service.check(client, '/v1/orders', 12)
  await service.check(CLIENT, ROUTE, 8)
  await service.check(CLIENTS[1], ROUTE, 4)
  await service.newKey(longest('key-', 64), 'read')
  await service.call('POST', '/v1/reset', { client_id: CLIENTS[2], route: ROUTE })
})

afterAll(async () => {
  await browser?.close()
  await service?.stop()
})

const pageOf = (client: string) => `/clients?client=${encodeURIComponent(client)}&route=${encodeURIComponent(ROUTE)}`

/** Each page, and a text that appears once the page is drawn. */
const PAGES: readonly (readonly [name: string, path: string, text: string])[] = [
  ['overview', '/', 'Denied over time'],
  ['overview of a month', '/?seconds=2678400', 'The last day is still running'],
  ['live', '/live', 'is used up'],
  ['fleet', '/fleet', 'this one'],
  ['clients', '/clients', CLIENT],
  ['one client', pageOf(CLIENT), 'of 5 used'],
  ['one client, counted over all routes', pageOf(CLIENTS[1]), 'of 2 used'],
  ['policies', '/policies', POLICY],
  ['one policy', `/policies?name=${POLICY}`, 'Added by'],
  ['new policy', '/policies?new=1', 'What it would do'],
  ['keys and audit', '/keys', 'counter.reset'],
  ['search in the audit log', `/keys?search=key.&target=${longest('target-', 256)}`, 'Only entries about'],
  ['playground', '/playground', 'most in any 10 s'],
  ['no such page', '/mistyped', 'There is no such page'],
]

/** Dialogs, by the page and the button that opens them. Invariant: each page is one of PAGES. */
const DIALOGS: readonly (readonly [name: string, path: string, button: string | RegExp])[] = [
  ['reset', pageOf(CLIENT), 'Reset …'],
  ['give back', pageOf(CLIENT), 'Give back …'],
  ['block', pageOf(CLIENT), 'Block this client …'],
  ['mode', '/policies', `Put in shadow ${POLICY}`],
  ['delete', `/policies?name=${POLICY}`, 'Delete …'],
  ['new key', '/keys', 'New key'],
  ['replace', '/keys', /^Replace key-w/],
  ['revoke', '/keys', /^Revoke key-w/],
  ['use a rule', '/playground', 'Use rule 1'],
]

describe.each(['wide', 'narrow'] as const)('with a %s font', (font: ForcedFont) => {
  let context: BrowserContext
  let page: Page
  let drawn: () => Promise<readonly DrawnText[]>

  async function open(): Promise<[BrowserContext, Page]> {
    const opened = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    await forceFont(opened, font)
    const first = await opened.newPage()
    first.setDefaultTimeout(15_000)
    return [opened, first]
  }

  async function signIn(on: Page, { address, key }: LiveService): Promise<void> {
    await on.goto(address)
    await on.getByLabel('API key').fill(key)
    await on.keyboard.press('Enter')
    await on.getByRole('navigation', { name: 'Pages' }).waitFor()
  }

  beforeAll(async () => {
    ;[context, page] = await open()
    drawn = await recordDrawnText(page)
    await signIn(page, service)
  })

  afterAll(() => context?.close())

  /** Opens one page for each width, so that a change is awaited only once. */
  async function openAtEveryWidth(address: string): Promise<[BrowserContext, readonly Page[]]> {
    const [own, first] = await open()
    const pages = [first, ...(await Promise.all(WIDTHS.slice(1).map(() => own.newPage())))]
    await Promise.all(
      pages.map(async (of, i) => {
        await of.setViewportSize({ width: WIDTHS[i], height: 800 })
        await of.goto(address)
      }),
    )
    return [own, pages]
  }

  async function atEveryWidth(look: (width: number) => Promise<void>, of = page): Promise<void> {
    for (const width of WIDTHS) {
      await of.setViewportSize({ width, height: 800 })
      await look(width)
    }
    await of.setViewportSize({ width: 1280, height: 800 })
  }

  test('the font is the one that is forced', async () => {
    const [forced, shipped] = await page.evaluate(async () => {
      const families = ['Forced', '"Inter Variable"']
      await Promise.all(families.map((family) => document.fonts.load(`100px ${family}`)))
      const canvas = document.createElement('canvas').getContext('2d') as CanvasRenderingContext2D
      return families.map((family) => {
        canvas.font = `100px ${family}`
        return canvas.measureText('what is limited, and why').width
      })
    })
    expect(forced / shipped).toBeCloseTo(FONT_SCALES[font], 2)
  })

  test('every dialog is tested with its page', () => {
    expect(DIALOGS.filter(([, path]) => !PAGES.some((page) => page[1] === path))).toEqual([])
  })

  test.each(PAGES)('%s, and its dialogs: nothing sticks out, and names that are cut have a title', async (_name, path, text) => {
    await page.goto(`${service.address}${path}`)
    await page.getByText(text).first().waitFor()
    await atEveryWidth(() => expectWellLaidOut(page))
    const dialog = page.getByRole('dialog')
    for (const [name, , button] of DIALOGS.filter(([, of]) => of === path)) {
      await page.getByRole('button', { name: button }).first().click()
      await dialog.waitFor()
      await atEveryWidth((width) => expectWellLaidOut(page, `dialog ${name} at ${width}`))
      const sideways = await page.evaluate(() =>
        [...document.querySelectorAll('dialog')].map((each) => each.scrollWidth - each.clientWidth),
      )
      expect(sideways, `dialog ${name}`).toEqual([0])
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'hidden' })
    }
  })

  test('the sign-in page: nothing sticks out, and nothing moves when a key is refused', async () => {
    const [own, signingIn] = await open()
    await signingIn.goto(service.address)
    await signingIn.getByLabel('API key').waitFor()
    await atEveryWidth(async () => {
      await signingIn.getByLabel('API key').fill('')
      await expectWellLaidOut(signingIn)
      const before = await places(signingIn, 'h1, input, button')
      await signingIn.getByLabel('API key').fill('sluice_wrong')
      await signingIn.keyboard.press('Enter')
      await signingIn.getByText('This key is not known').waitFor()
      expect(await places(signingIn, 'h1, input, button')).toEqual(before)
      await signingIn.reload()
    }, signingIn)
    await own.close()
  })

  test('the list of policies breaks no word of an ordinary policy', async () => {
    await page.goto(`${service.address}/policies`)
    const row = 'tr:has([title="orders"]) td'
    await page.locator(row).first().waitFor()
    expect(await brokenWords(page, row)).toEqual([])
  })

  test('the fleet in every state, with the longest names: nothing sticks out', async () => {
    const [own, fleet] = await open()
    await signIn(fleet, service)
    // Instances of other machines cannot run here, so their reports are added to the answer.
    await fleet.route('**/v1/fleet', async (route) => {
      const response = await route.fetch()
      const { meta, data } = await response.json()
      const [self] = data.instances
      const others = ['starting', 'ready', 'draining', 'stopped', 'gone'].map((state, i) => ({
        ...self,
        ...{ id: longest(`${state}-`, 73), self: false, state, version: '10.11.12-beta.13', seen_ms_ago: 599_000 },
        ...{ started_at: new Date(Date.now() - 99.5 * 86_400_000).toISOString(), allowed: 10 ** (i + 8), per_second: 123_456.7 },
      }))
      await route.fulfill({ response, json: { meta, data: { ...data, up: 4, instances: [self, ...others] } } })
    })
    await fleet.goto(`${service.address}/fleet`)
    await fleet.getByText('1 instance is gone').waitFor()
    await atEveryWidth((width) => expectWellLaidOut(fleet, `fleet at ${width}`), fleet)
    await own.close()
  })

  // Several pages at once take long on a busy machine.
  test('the overview follows what happens, and nothing moves while it does', async () => {
    const brief = await startLiveService({ keysRequired: 'false' })
    await brief.call('PUT', '/v1/policies/default', { rules: '1/day' })
    const [own, pages] = await openAtEveryWidth(brief.address)
    const parts = '.overview > *, .figure, .figure > *, h1, h2, .two-cards > *, .segments'
    const look = () => Promise.all(pages.map((of) => places(of, parts)))
    for (const of of pages) {
      await of.getByText('All is quiet').waitFor()
      await of.getByText('No client was denied anything.').waitFor()
      await of.getByText('none yet').waitFor()
      expect(await cutShort(of, '.figure > *')).toEqual([])
    }
    const before = await look()
    for (const client of CLIENTS) await brief.check(client, '/v1/orders', 24)
    for (const client of ['a', 'b', 'c']) await brief.check(client, '/v1/orders', 12)
    for (const of of pages) {
      await of.getByRole('region', { name: 'How things stand' }).getByRole('link', { name: CLIENT }).waitFor()
      await of.getByRole('region', { name: 'Policies that deny most' }).getByRole('link', { name: 'default' }).waitFor()
    }
    expect(await look()).toEqual(before)
    for (const of of pages) {
      await expectWellLaidOut(of)
      expect(await cutShort(of, '.figure > *')).toEqual([])
    }
    await own.close()
    await brief.stop()
  })

  test('the page of a client follows its counts, and nothing moves while it does', async () => {
    const brief = await startLiveService({ keysRequired: 'false' })
    await brief.call('PUT', '/v1/policies/default', { rules: RULES })
    const [own, pages] = await openAtEveryWidth(`${brief.address}${pageOf(CLIENT)}`)
    const look = () => Promise.all(pages.map((of) => places(of, '.usage, .usage > *, .rule-bar, .rule-bar > *')))
    for (const of of pages) await of.getByText('0 of 5 used').waitFor()
    const before = await look()
    await brief.check(CLIENT, ROUTE, 8)
    for (const of of pages) await of.getByText(/next passes in .* min/).waitFor()
    expect(await look()).toEqual(before)
    await own.close()
    await brief.stop()
  })

  test('the chart shows whole labels, several of them, and no scale that is not true', async () => {
    const isTime = (text: string) => /^\d\d:\d\d|^\d+ [A-Z]/.test(text)
    const times = async () => [...new Set((await drawn()).filter(({ text }) => isTime(text)).map(({ text }) => text))]
    for (const seconds of [300, 3600, 86_400, 604_800, 2_678_400]) {
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 800 })
        await page.goto(`${service.address}/?seconds=${seconds}`)
        await expect.poll(async () => (await times()).length, { timeout: 5000 }).toBeGreaterThan(1)
        expect((await drawn()).filter(({ left, right, width: whole }) => left < 0 || right > whole)).toEqual([])
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 })
    const quiet = await startLiveService({ keysRequired: 'false' })
    await page.goto(quiet.address)
    await page.getByText('No check since the start.').waitFor()
    const scale = async () => (await drawn()).map(({ text }) => text).filter((text) => text !== '' && !isTime(text))
    await expect.poll(scale, { timeout: 5000 }).toContain('0')
    expect((await drawn()).map(({ text }) => text)).not.toContain('1')
    await quiet.stop()
  })

  test('the playground holds still while one points at a moment', async () => {
    await page.goto(`${service.address}/playground`)
    const held = '.lanes, .playground .card, .playground .button'
    const picture = page.locator('.rule-picture').first()
    await picture.locator('svg').waitFor()
    await atEveryWidth(async () => {
      await picture.scrollIntoViewIfNeeded()
      await page.mouse.move(1, 1)
      await page.getByText('Point at a moment').waitFor()
      const before = await places(page, held)
      await picture.hover()
      await page.getByText(/^At \d/).waitFor()
      expect(await places(page, held)).toEqual(before)
    })
    const before = await places(page, held)
    await page.evaluate(() => Object.assign(navigator.clipboard, { writeText: () => Promise.reject(new Error('no')) }))
    await page.getByRole('button', { name: 'Copy link' }).click()
    await page.getByRole('button', { name: 'Not allowed' }).waitFor()
    expect(await places(page, held)).toEqual(before)
  })
})
