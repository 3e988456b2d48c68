// Cloudflare Workers: the documented examples, and waiting from several requests, in workerd.

import { readFileSync, rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { startRedis } from './servers/redis-server.mjs'
import { startUpstashFront } from './servers/upstash-front.mjs'
import { makeDisk, startWorker, whyNoWorkerd } from './servers/workerd-server.mjs'

const folder = fileURLToPath(new URL('..', import.meta.url))
const whyNot = whyNoWorkerd()

const running: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const worker of running.splice(0)) await worker.stop()
})

async function run(code: string, options: Partial<Parameters<typeof startWorker>[0]> = {}) {
  const worker = await startWorker({ code, folder, ...options })
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

  describe("Upstash's REST API", () => {
    async function startFront() {
      const server = await startRedis()
      const front = await startUpstashFront(server.port)
      running.push({ stop: () => front.end() }, { stop: () => server.stop() })
      return front
    }

    /** The worker of the guide, with an address and a token instead of the environment's. */
    function workerOn({ url, token }: { readonly url: string; readonly token: string }): string {
      return exampleWith('choosing-a-store.md', 'UPSTASH_REDIS_REST_URL')
        .replace(
          "import { env } from 'cloudflare:workers'",
          `const env = ${JSON.stringify({ UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token })}`,
        )
        .replace('timeoutMs: 1000', 'timeoutMs: 20_000')
    }

    test('the example of the guide limits, also many requests at once', async () => {
      const front = await startFront()
      const { url, printed } = await run(workerOn(front))
      const ask = async (address: string) => (await fetch(url, { headers: { 'CF-Connecting-IP': address } })).status
      expect(await ask('203.0.113.1'), printed()).toBe(200)
      const statuses = await Promise.all(Array.from({ length: 110 }, () => ask('203.0.113.9')))
      expect(statuses.filter((status) => status === 200)).toHaveLength(100)
      expect(statuses.filter((status) => status === 429)).toHaveLength(10)
    })

    test('calls that a request makes together are one command', async () => {
      const front = await startFront()
      const { url, printed } = await run(TOGETHER.replace('ADDRESS', JSON.stringify({ url: front.url, token: front.token })))
      await fetch(url)
      front.requests.length = 0
      expect(await (await fetch(url)).text(), printed()).toBe(Array.from({ length: 40 }, (_, i) => 59 - i).join())
      expect(front.requests).toHaveLength(1)
    })

    test('a request whose client has gone does not keep later ones waiting', async () => {
      const front = await startFront()
      const { url, printed } = await run(workerOn(front))
      const headers = { 'CF-Connecting-IP': '203.0.113.9' }
      expect((await fetch(url, { headers })).status, printed()).toBe(200)
      front.fates = ['silent']
      const abort = new AbortController()
      const gone = fetch(url, { headers, signal: abort.signal }).catch(() => 'gone')
      await expect.poll(() => front.fates.length).toBe(0)
      abort.abort()
      expect(await gone).toBe('gone')
      for (let i = 0; i < 3; i++) expect((await fetch(url, { headers })).status, printed()).toBe(200)
    })

    test('a lost answer counts once', async () => {
      const front = await startFront()
      const { url, printed } = await run(TOGETHER.replace('ADDRESS', JSON.stringify({ url: front.url, token: front.token })))
      await fetch(url)
      front.fates = ['lost']
      expect(await (await fetch(url)).text(), printed()).toBe('ERR_STORE_UNKNOWN')
      expect(await (await fetch(`${url}/used`)).text()).toBe('80')
    })
  })

  describe('the guide to Workers', () => {
    const objects = { SLUICE: 'SluiceObject' }

    test('the example with a Durable Object limits many requests at once, and after a restart', async () => {
      const disk = makeDisk()
      running.push({ stop: async () => rmSync(disk, { recursive: true, force: true }) })
      const code = exampleWith('workers.md', 'durableObjectStore(env.SLUICE)').replace('timeoutMs: 1000', 'timeoutMs: 20_000')
      const first = await run(code, { objects, disk, compatibilityDate: '2025-04-01' })
      const askOf = (url: string) => async (address: string) =>
        (await fetch(url, { headers: { 'CF-Connecting-IP': address } })).status
      const statuses = await Promise.all(Array.from({ length: 110 }, () => askOf(first.url)('203.0.113.9')))
      expect(
        statuses.filter((status) => status === 200),
        first.printed(),
      ).toHaveLength(100)
      expect(statuses.filter((status) => status === 429)).toHaveLength(10)
      await first.stop()
      const { url } = await run(code, { objects, disk, compatibilityDate: '2025-04-01' })
      expect([await askOf(url)('203.0.113.9'), await askOf(url)('203.0.113.10')]).toEqual([429, 200])
    })

    test('the example in memory limits', async () => {
      const { url } = await run(exampleWith('workers.md', 'slow down'))
      const statuses = await Promise.all(Array.from({ length: 22 }, async () => (await fetch(url)).status))
      // The request that started the Worker came from the same unknown address.
      expect(statuses.filter((status) => status === 200)).toHaveLength(19)
    })
  })

  test('a call outside of a handler fails, and the next one inside works', async () => {
    const { url } = await run(EARLY, { objects: { SLUICE: 'SluiceObject' }, compatibilityDate: '2025-04-01' })
    expect(await (await fetch(`${url}/early`)).text()).toContain('not allowed within global scope')
    expect(await (await fetch(`${url}/hit`)).text()).toBe('99')
  })

  test('requests that wait for one key in a Durable Object are all served, none before its time', async () => {
    const code = WAITING.replace('waiting: waitingLine()', 'waiting: waitingLine(), store, failure: { timeoutMs: 20_000 }')
      .replace('const limiter', 'const store = durableObjectStore(env.SLUICE)\nconst limiter')
      .replace("from 'sluice'", `from 'sluice'\n${OBJECTS}`)
    const { url, printed } = await run(code, { objects: { SLUICE: 'SluiceObject' }, compatibilityDate: '2025-04-01' })
    const startMs = performance.now()
    const texts = await Promise.all(Array.from({ length: 5 }, async () => (await fetch(`${url}/wait`)).text()))
    expect(texts, printed()).toEqual(Array(5).fill('served'))
    expect(performance.now() - startMs).toBeGreaterThan(4 * EVERY_MS - 50)
  })

  test('a request whose client goes while its object decides does not keep those behind it from their turn', async () => {
    const { url, printed } = await run(SILENT, { objects: { SLUICE: 'Silent' }, compatibilityDate: '2025-04-01' })
    const abort = new AbortController()
    const gone = fetch(`${url}/wait`, { signal: abort.signal }).catch(() => 'gone')
    await expect.poll(async () => (await fetch(`${url}/asked`)).text()).toBe('1')
    const behind = fetch(`${url}/wait`)
    abort.abort()
    expect(await gone).toBe('gone')
    expect(await (await behind).text(), printed()).toBe('served')
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

const OBJECTS = `import { env } from 'cloudflare:workers'
import { durableObjectStore } from 'sluice/durable-object'
export { SluiceObject } from 'sluice/durable-object'`

/** A worker whose object does not answer the first message. */
const SILENT = `
import { env } from 'cloudflare:workers'
import { createLimiter, gcra, waitingLine } from 'sluice'
import { durableObjectStore, SluiceObject } from 'sluice/durable-object'

let asked = 0

export class Silent extends SluiceObject {
  fetch(request: Request) {
    asked += 1
    return asked === 1 ? new Promise(() => {}) : super.fetch(request)
  }
}

const limiter = createLimiter({
  rules: gcra({ limit: 1, period: '${EVERY_MS}ms' }),
  store: durableObjectStore(env.SLUICE),
  waiting: waitingLine(),
  failure: { timeoutMs: 2000, failures: 100 },
})

export default {
  async fetch(request: Request) {
    if (request.url.endsWith('/asked')) return new Response(String(asked))
    if (!request.url.endsWith('/wait')) return new Response('started')
    return limiter.wait('origin').then(
      () => new Response('served'),
      (error) => new Response(error.code),
    )
  },
}
`

/** A worker that makes a hit before any request has come. */
const EARLY = `
import { createLimiter, fixedWindow } from 'sluice'
${OBJECTS}

const limiter = createLimiter({
  rules: fixedWindow({ limit: 100, window: '1h' }),
  store: durableObjectStore(env.SLUICE),
  failure: { timeoutMs: 20_000 },
})
let early = 'nothing'
try {
  limiter.hit('ada').catch((error) => (early = error.message))
} catch (error) {
  early = 'thrown ' + error
}

export default {
  async fetch(request: Request) {
    if (request.url.endsWith('/early')) return new Response(early)
    if (request.url.endsWith('/start')) return new Response('started')
    return new Response(String((await limiter.hit('ada')).remaining))
  },
}
`

/** A worker that makes 40 hits for each request, and prints what remains after each. */
const TOGETHER = `
import { createLimiter, fixedWindow } from 'sluice'
import { redisStore } from 'sluice/redis'

const limiter = createLimiter({
  rules: fixedWindow({ limit: 100, window: '1h' }),
  store: redisStore(ADDRESS),
  failure: { timeoutMs: 10_000, failures: 1000 },
})

export default {
  async fetch(request: Request) {
    if (request.url.endsWith('/used')) return new Response(String(await limiter.get('ada')))
    if (request.url.endsWith('/start')) return new Response('started')
    return Promise.all(Array.from({ length: 40 }, () => limiter.hit('ada'))).then(
      (decisions) => new Response(decisions.map(({ remaining }) => remaining).join()),
      (error) => new Response(error.code),
    )
  },
}
`

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
