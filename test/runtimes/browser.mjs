// The portable tests in Chromium, on a page of a server on loopback.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { chromium } from 'playwright-core'
import { findChromium } from '../../scripts/find-chromium.mjs'

/** @import { Outcome } from './collected-tests.ts' */
/** @import { PortableSettings } from './portable/index.ts' */

/**
 * @param {string} bundle text of the bundle
 * @param {PortableSettings} settings
 * @returns {Promise<{ outcome: Outcome, version: string }>}
 */
export async function runInChromium(bundle, settings) {
  const executablePath = findChromium()
  if (executablePath === undefined) throw new Error('there is no Chromium: run node scripts/install-programs.mjs')
  const server = createServer(({ url }, response) => {
    const isBundle = url === '/portable.mjs'
    response.setHeader('Content-Type', isBundle ? 'text/javascript' : 'text/html')
    response.end(isBundle ? bundle : '<!doctype html><title>Sluice</title>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  // Chromium's sandbox does not work for root.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const browser = await chromium.launch({ executablePath, args })
  try {
    const page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${port}/`)
    const run = `import('/portable.mjs').then(({ runPortable }) => runPortable(${JSON.stringify(settings)}))`
    return { outcome: /** @type {Outcome} */ (await page.evaluate(run)), version: browser.version() }
  } finally {
    await browser.close()
    server.close()
  }
}
