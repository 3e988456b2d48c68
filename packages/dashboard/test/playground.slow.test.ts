// The playground in a real browser. Its numbers are compared with the library, under traffic that is defined again here.

import type { Browser, Page } from 'playwright-core'
import { createLimiter, fixedWindow, gcra, memoryStore, type Rule, slidingLog, slidingWindow, tokenBucket } from 'sluice'
import { fakeClock } from 'sluice/testing'
import { type PreviewServer, preview } from 'vite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildDashboard, VITE_CONFIG } from '../../../scripts/build-dashboard.mjs'
import { expectAccessible, expectNoSidewaysScroll, openPage, startBrowser } from './browser.ts'

let browser: Browser
let server: PreviewServer
let url: string

beforeAll(async () => {
  await buildDashboard()
  server = await preview({ configFile: VITE_CONFIG, logLevel: 'error', preview: { host: '127.0.0.1', port: 4800 } })
  url = `${server.resolvedUrls?.local[0]}playground`
  browser = await startBrowser()
})

afterAll(async () => {
  await browser?.close()
  await server?.close()
})

interface Numbers {
  readonly most: number
  readonly allowed: number
  readonly denied: number
}

/** The library's answers to hits at these times, and the largest number that passed in any 10 s. Tries every millisecond. */
function numbersOf(rule: Rule, times: readonly number[]): Numbers {
  const clock = fakeClock(1_763_164_800_000)
  const limiter = createLimiter({ rules: rule, store: memoryStore({ clock }) })
  const passed: number[] = []
  for (const [i, atMs] of times.entries()) {
    clock.advance(atMs - (times[i - 1] ?? 0))
    if (limiter.hit('somebody').allowed) passed.push(atMs)
  }
  limiter.close()
  let most = 0
  for (let fromMs = 0; fromMs < 60_000; fromMs++) {
    let count = 0
    for (const atMs of passed) if (atMs >= fromMs && atMs < fromMs + 10_000) count += 1
    most = Math.max(most, count)
  }
  return { most, allowed: passed.length, denied: times.length - passed.length }
}

function shownNumbers(page: Page): Promise<Numbers[]> {
  return page.locator('.rule-card').evaluateAll((cards) =>
    cards.map((card) => {
      const read = (name: string) => Number(card.querySelector(`[data-number=${name}]`)?.textContent)
      return { most: read('most'), allowed: read('allowed'), denied: read('denied') }
    }),
  )
}

const START_RULES = [
  fixedWindow({ limit: 10, window: '10s', anchor: 'clock' }),
  slidingLog({ limit: 10, window: '10s' }),
  slidingWindow({ limit: 10, window: '10s' }),
  tokenBucket({ capacity: 10, refill: 10, every: '10s' }),
]

describe('the numbers', () => {
  test('at the start, a fixed window lets twice its limit through a boundary and the others do not', async () => {
    const [page, errors] = await openPage(browser, url)
    const times = [10_000, 30_000, 50_000].flatMap((boundaryMs) =>
      Array.from({ length: 20 }, (_, i) => boundaryMs - 400 + i * 40),
    )
    const expected = START_RULES.map((rule) => numbersOf(rule, times))
    expect(await shownNumbers(page)).toEqual(expected)
    expect(expected.map(({ most }) => most)).toEqual([20, 10, 10, 10])
    expect(errors).toEqual([])
    await page.context().close()
  })

  test('are the library’s under steady traffic, for rules as they are typed', async () => {
    const [page] = await openPage(browser, url)
    await page.getByRole('radio', { name: 'Steady' }).check()
    await page.getByLabel('Hits', { exact: true }).fill('33')
    const last = page.getByRole('article', { name: 'Rule 4' })
    await last.getByLabel('Capacity').fill('25')
    await last.getByLabel('Refill').fill('7')
    const third = page.getByRole('article', { name: 'Rule 3' })
    await third.getByLabel('Algorithm of rule 3').selectOption('gcra')
    await third.getByLabel('Burst').fill('3')
    const times = Array.from({ length: 198 }, (_, i) => Math.floor((i * 10_000) / 33))
    const rules = [
      START_RULES[0],
      START_RULES[1],
      gcra({ limit: 10, period: '10s', burst: 3 }),
      tokenBucket({ capacity: 25, refill: 7, every: '10s' }),
    ]
    expect(await shownNumbers(page)).toEqual(rules.map((rule) => numbersOf(rule, times)))
    await page.context().close()
  })

  test('are the library’s for a client that waits for retryAfterMs', async () => {
    const [page] = await openPage(
      browser,
      `${url}#traffic=retrying:hits=12,retry=told&rule=sliding-log&rule=fixed-window:countDenied=yes,limit=12`,
    )
    const expected = [slidingLog({ limit: 10, window: '10s' }), fixedWindow({ limit: 12, window: '10s', countDenied: true })].map(
      (rule) => {
        const clock = fakeClock(1_763_164_800_000)
        const limiter = createLimiter({ rules: rule, store: memoryStore({ clock }) })
        const jobs = Array.from({ length: 72 }, (_, i) => Math.floor((i * 10_000) / 12))
        let allowed = 0
        let denied = 0
        for (let nowMs = 0; nowMs < 60_000; nowMs++) {
          for (const due = jobs.filter((atMs) => atMs === nowMs); due.length > 0; due.pop()) {
            const decision = limiter.hit('somebody')
            if (decision.allowed) allowed += 1
            else denied += 1
            if (!decision.allowed) jobs.push(nowMs + decision.retryAfterMs)
          }
          clock.advance(1)
        }
        limiter.close()
        return { allowed, denied }
      },
    )
    expect(await shownNumbers(page)).toMatchObject(expected)
    await page.context().close()
  })
})

describe('a link', () => {
  test('shows another person the same picture', async () => {
    const [mine] = await openPage(browser, url)
    await mine.getByRole('radio', { name: 'Random' }).check()
    await mine.getByLabel('Seed').fill('42')
    await mine.getByRole('button', { name: 'Remove rule 2' }).click()
    await mine.getByLabel('Limit').first().fill('8')
    const link = await mine.evaluate(() => location.href)
    expect(link).toContain(
      '#length=60s&span=10s&traffic=random:seed=42&rule=fixed-window:limit=8,anchor=clock&rule=sliding-window',
    )
    const [theirs] = await openPage(browser, link)
    expect(await shownNumbers(theirs)).toEqual(await shownNumbers(mine))
    expect(await theirs.locator('.rule-card').count()).toBe(3)
    await theirs.getByRole('button', { name: 'Start over' }).click()
    expect(await theirs.locator('.rule-card').count()).toBe(4)
    expect(await theirs.evaluate(() => location.href)).toBe(url)
    await Promise.all([mine.context().close(), theirs.context().close()])
  })

  test('that cannot be read says so and shows the start', async () => {
    const [page] = await openPage(browser, `${url}#rule=<img src=x onerror=alert(1)>`)
    await page.getByText("no algorithm is called '<img src=x onerror=alert(1)>'").waitFor()
    expect(await page.locator('.rule-card').count()).toBe(4)
    await page.context().close()
  })
})

test('what is typed wrong is said at its field, and nothing else changes', async () => {
  const [page, errors] = await openPage(browser, url)
  const before = await shownNumbers(page)
  const limit = page.getByLabel('Limit').first()
  await limit.fill('0')
  await page.getByText('fixedWindow needs limit to be a whole number of at least 1, got 0').waitFor()
  expect(await limit.getAttribute('aria-invalid')).toBe('true')
  expect((await shownNumbers(page)).slice(1)).toEqual(before.slice(1))
  await limit.fill('10')
  expect(await shownNumbers(page)).toEqual(before)
  await page.getByLabel('Time shown').fill('100d')
  await page.getByText(/5000 hits at most/).waitFor()
  await page.getByLabel('Time shown').fill('')
  await page.getByText(/Time shown: it must be such as/).waitFor()
  expect(errors).toEqual([])
  await page.context().close()
})

test('a rule can be taken away as TypeScript, YAML and curl, by keyboard alone', async () => {
  const [page] = await openPage(browser, url, { permissions: ['clipboard-read', 'clipboard-write'] })
  await page.getByRole('button', { name: 'Use rule 1' }).focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Use this fixed window' })
  await dialog.getByText("fixedWindow({ limit: 10, window: '10s', anchor: 'clock' })").waitFor()
  await dialog.getByRole('radio', { name: 'TypeScript' }).focus()
  await page.keyboard.press('ArrowRight')
  await dialog.getByText('algorithm: fixed-window').waitFor()
  await page.keyboard.press('ArrowRight')
  await dialog.getByText('curl -X PUT').waitFor()
  await dialog.getByRole('button', { name: 'Copy' }).focus()
  await page.keyboard.press('Enter')
  await dialog.getByText('Copied').waitFor()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('"algorithm":"fixed-window"')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Use rule 1')
  await page.context().close()
})

test('a moment can be looked at by keyboard', async () => {
  const [page] = await openPage(browser, url)
  const moment = page.getByRole('slider')
  await moment.focus()
  await page.keyboard.press('End')
  expect(await moment.getAttribute('aria-valuetext')).toMatch(
    /^60 s: Fixed window 0 used, allowed; Sliding log .* used, denied, retry after/,
  )
  expect(await page.locator('.cursor').count()).toBe(4)
  await page.context().close()
})

test.each([
  ['light', 1440],
  ['dark', 1440],
  ['light', 390],
  ['dark', 820],
] as const)('axe finds nothing wrong in %s at %i pixels, and nothing sticks out', async (colorScheme, width) => {
  const [page, errors] = await openPage(browser, url, { colorScheme, viewport: { width, height: 900 } })
  await page.getByLabel('Limit').first().fill('x')
  await page.getByText('More options').first().click()
  await expectAccessible(page)
  await expectNoSidewaysScroll(page)
  await page.getByRole('button', { name: 'Use rule 2' }).click()
  await expectAccessible(page)
  expect(errors).toEqual([])
  await page.context().close()
})
