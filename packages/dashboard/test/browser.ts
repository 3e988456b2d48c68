// A real browser for tests of the pages, and checks for every page: no console error, no violation that axe finds,
// no sideways scrolling.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { findChromium } from '../../../scripts/find-chromium.mjs'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export async function startBrowser(): Promise<Browser> {
  const executablePath = findChromium()
  if (executablePath === undefined) throw new Error('there is no Chromium: run node scripts/install-programs.mjs')
  // Chromium's sandbox does not work for root.
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
}

/** Opens a page in a new context, and collects its errors. A refusal by the service is no error of the page. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<[page: Page, errors: string[]]> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    const isRefusal = /^Failed to load resource: .* status of 4\d\d/.test(message.text())
    if ((message.type() === 'error' || message.type() === 'warning') && !isRefusal) errors.push(message.text())
  })
  await page.goto(url)
  return [page, errors]
}

/** Fails with the violations that axe finds, as text. Checks all rules of axe, or only the named ones. */
export async function expectAccessible(page: Page, rules?: readonly string[]): Promise<void> {
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
  // Injected past the page's Content-Security-Policy, which this test does not check.
  const found = await page.evaluate(`${axe};axe.run(document, ${JSON.stringify(options)})`)
  const { violations } = found as {
    violations: { id: string; help: string; nodes: { html: string; failureSummary: string }[] }[]
  }
  expect(
    violations.map(
      ({ id, help, nodes }) => `${id}: ${help}\n${nodes.map((node) => `${node.html}\n${node.failureSummary}`).join('\n')}`,
    ),
  ).toEqual([])
}

/** Checks the light and the dark theme, which differ only in their colours. */
export async function expectAccessibleInBoth(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' })
  await expectAccessible(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  await expectAccessible(page, ['color-contrast'])
}

/** Waits a moment, because pictures are drawn again after the page became narrower. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const sticksOut = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  await expect.poll(sticksOut, { timeout: 5000 }).toBeLessThanOrEqual(0)
}
