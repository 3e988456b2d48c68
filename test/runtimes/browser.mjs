// The portable tests in Chromium, on a page of a server on loopback. The server forwards requests of the page to the service, because a page
// may only ask its own origin.

import { once } from 'node:events'
import { createServer, request as requestHttp } from 'node:http'
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
  const server = createServer((request, response) => {
    const { url } = request
    if (settings.service !== undefined && url?.startsWith('/v1/')) return void forward(request, response, settings.service.url)
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
    const origin = `http://127.0.0.1:${port}`
    await page.goto(`${origin}/`)
    const own = { ...settings, ...(settings.service && { service: { ...settings.service, url: origin } }) }
    const run = `import('/portable.mjs').then(({ runPortable }) => runPortable(${JSON.stringify(own)}))`
    return { outcome: /** @type {Outcome} */ (await page.evaluate(run)), version: browser.version() }
  } finally {
    await browser.close()
    server.close()
  }
}

/**
 * Forwards a request, as a proxy before the service would.
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 * @param {string} service
 */
function forward(request, response, service) {
  const { method, headers, url } = request
  const forwarded = requestHttp(`${service}${url}`, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  forwarded.on('error', () => response.writeHead(502).end())
  request.pipe(forwarded)
}
