// The HTML report of a simulation in a real browser, on a desk and on a phone.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectAccessibleInBoth, expectNoSidewaysScroll, openPage, startBrowser } from '../../dashboard/test/browser.ts'
import type { PolicySpec } from '../src/policies/policy.ts'
import { blankEntry } from '../src/simulate/forms/entry-reader.ts'
import { LogClock } from '../src/simulate/replay/log-clock.ts'
import { bookOf } from '../src/simulate/replay/policy-books.ts'
import { Simulation } from '../src/simulate/replay/simulation.ts'
import { htmlReport } from '../src/simulate/report/html-report.ts'
import { reportOf } from '../src/simulate/report/report.ts'
import { temporaryFolder } from './temporary-folder.ts'

let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(async () => browser.close())

const PROPOSED: PolicySpec[] = [
  { name: 'api', route: '/v1*', rules: '5/minute; token-bucket 20/second burst 30', scope: 'policy' },
  { name: 'seen', route: '/search', mode: 'shadow', rules: '2/minute' },
]
const CURRENT: PolicySpec[] = [{ name: 'default', rules: '8/minute', scope: 'policy' }]

/** Two hours of requests: a few clients send much, and one has a long name. */
function page(): string {
  const clock = new LogClock()
  const simulation = new Simulation({ clock, proposed: bookOf(PROPOSED, clock), current: bookOf(CURRENT, clock) })
  for (let i = 0; i < 3000; i++) {
    const clientId = i % 3 === 0 ? 'loud' : i % 50 === 1 ? 'x'.repeat(256) : `client-${i % 40}`
    const route = i % 4 === 0 ? '/search' : '/v1/orders'
    simulation.replay({ ...blankEntry(), timeMs: 1_763_193_637_000 + i * 2400, clientId, route })
  }
  simulation.close()
  const path = join(temporaryFolder(), 'report.html')
  writeFileSync(path, htmlReport(reportOf(simulation, 20), { proposed: 'new.yaml', against: 'old.yaml' }))
  return pathToFileURL(path).href
}

test.each([[1280], [390]])(
  'at a width of %i it is accessible, in light and dark, and does not scroll sideways',
  async (width) => {
    const [opened, errors] = await openPage(browser, page(), { viewport: { width, height: 800 } })
    await expectAccessibleInBoth(opened)
    await expectNoSidewaysScroll(opened)
    // Times are in one line each, so that rows stay low on a phone.
    const heights = await opened.locator('.time').evaluateAll((times) => times.map((time) => time.getClientRects().length))
    expect(heights.length).toBeGreaterThan(3)
    expect(Math.max(...heights)).toBe(1)
    expect(errors).toEqual([])
    await opened.context().close()
  },
)
