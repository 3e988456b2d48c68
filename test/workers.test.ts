// Cloudflare Workers: the documented examples, and waiting from several requests, in workerd.

import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { startWorker, whyNoWorkerd } from './servers/workerd-server.mjs'

const folder = fileURLToPath(new URL('..', import.meta.url))
const whyNot = whyNoWorkerd()

const running: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const worker of running.splice(0)) await worker.stop()
})

async function run(code: string) {
  const worker = await startWorker({ code, folder })
  running.push(worker)
  return worker
}

/** The example of a document that contains `text`. */
function exampleWith(document: string, text: string): string {
  const blocks = [...readFileSync(`${folder}docs/guides/${document}`, 'utf8').matchAll(/```ts[^\n]*\n([\s\S]*?)```/g)]
  const found = blocks.map(([, code]) => code).filter((code) => code.includes(text))
  expect(found, `examples with ${text} in ${document}`).toHaveLength(1)
  return found[0]
}

describe(`on workerd${whyNot && `, skipped: ${whyNot}`}`, { skip: whyNot !== '' }, () => {
  test('the example of the middleware guide starts, and limits', async () => {
    // The rest of the example calls the worker.
    const [worker] = exampleWith('middleware.md', 'cf-connecting-ip').split('const request =')
    const { url } = await run(`${worker}\nexport default worker`)
    const ask = async (address: string) => (await fetch(url, { headers: { 'CF-Connecting-IP': address } })).status
    const statuses = []
    for (let i = 0; i < 3; i++) statuses.push(await ask('203.0.113.9'))
    expect(statuses).toEqual([200, 200, 429])
    expect(await ask('203.0.113.10')).toBe(200)
  })

  test('the example of the waiting guide starts, and lets a request through', async () => {
    const code = exampleWith('waiting.md', 'export default').replace('fetch(request)', "new Response('passed')")
    const { url } = await run(code)
    expect(await (await fetch(url)).text()).toBe('passed')
  })

  test('requests that wait for one key are served one after the other, each by a timer of its own', async () => {
    const { url, printed } = await run(WAITING)
    const startMs = performance.now()
    const waits = Array.from({ length: 5 }, async () => {
      const response = await fetch(`${url}/wait`)
      return { status: response.status, text: await response.text(), ms: performance.now() - startMs }
    })
    const outcomes = await Promise.all(waits)
    expect(
      outcomes.map(({ status, text }) => `${status} ${text}`),
      printed(),
    ).toEqual(Array(5).fill('200 served'))
    const times = outcomes.map(({ ms }) => ms).sort((a, b) => a - b)
    expect(times[4]).toBeGreaterThan(4 * EVERY_MS - 50)
  })

  test('maxWaitMs ends a wait behind another request', async () => {
    const { url } = await run(WAITING)
    const statuses = await Promise.all(['/wait', '/wait', '/wait?max=10'].map(async (path) => (await fetch(url + path)).text()))
    expect(statuses).toEqual(['served', 'served', 'ERR_WAIT_TIMEOUT'])
  })

  test('a request whose client has gone does not keep those behind it from their turn', async () => {
    const { url, printed } = await run(WAITING)
    await fetch(`${url}/wait`)
    const abort = new AbortController()
    const gone = fetch(`${url}/wait`, { signal: abort.signal }).catch(() => 'gone')
    await pause(EVERY_MS / 4)
    const behind = fetch(`${url}/wait`)
    await pause(EVERY_MS / 4)
    abort.abort()
    expect(await gone).toBe('gone')
    expect(await (await behind).text(), printed()).toBe('served')
  })
})

const EVERY_MS = 200

/** A worker that lets one request through in each 200 ms. */
const WAITING = `
import { createLimiter, gcra, waitingLine } from 'sluice'

const limiter = createLimiter({ rules: gcra({ limit: 1, period: '${EVERY_MS}ms' }), waiting: waitingLine() })

export default {
  async fetch(request: Request) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname !== '/wait') return new Response('no need to wait')
    const max = searchParams.get('max')
    return limiter.wait('origin', max === null ? {} : { maxWaitMs: Number(max) }).then(
      () => new Response('served'),
      (error) => new Response(error.code),
    )
  },
}
`
