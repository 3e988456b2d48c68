// The proxy of examples/llm-proxy.mjs, in three processes over one SQLite file, under 64 streams at once that end, break off and crash.
// Nothing is overspent at any time, and the whole rest of the budget can be used afterwards.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createLimiter, type Duration, holds, memoryStore } from 'sluice'
import { sqliteStore } from 'sluice/sqlite'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startFakeApi } from '../examples/llm/fake-api.mjs'
import { llmProxy, rulesOf } from '../examples/llm/proxy.mjs'
import { openSqlite } from './servers/sqlite-drivers.mjs'

const STREAMS = 64
const TTL_MS = 60_000
const MAX_TOKENS = 100

/** Tokens and money are too few for 64 streams at once, and each is the bound for some of them. */
const LIMITS = { requests: 1000, tokens: 9800, microdollars: 58_000, streams: STREAMS, ttl: `${TTL_MS}ms` as Duration }

interface Proxy {
  readonly child: ChildProcess
  readonly url: string
}

/** The fate of a stream: its client reads to the end, hangs up, its API breaks, or its proxy is killed. */
type Fate = 'end' | 'hang up' | 'break' | 'crash'

const folder = mkdtempSync(join(tmpdir(), 'sluice-llm-'))
const file = join(folder, 'budget.db')

let api: Awaited<ReturnType<typeof startFakeApi>>
let proxies: Proxy[]
let database: ReturnType<typeof openSqlite>

async function startProxy(): Promise<Proxy> {
  const env = { ...process.env, PORT: '0', UPSTREAM: api.url, DATABASE: file, LIMITS: JSON.stringify(LIMITS) }
  const program = fileURLToPath(new URL('../examples/llm-proxy.mjs', import.meta.url))
  // The server of the proxy reports bodies that broke off.
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return { child, url: String(line).replace('listening on ', '') }
}

beforeAll(async () => {
  api = await startFakeApi()
  proxies = await Promise.all([startProxy(), startProxy(), startProxy()])
  database = openSqlite(file)
})

afterAll(() => {
  for (const { child } of proxies) child.kill('SIGKILL')
  api.stop()
  database.close()
  rmSync(folder, { recursive: true, force: true })
})

const promptOf = (i: number, fate: Fate): string =>
  `tokens=${fate === 'end' ? 20 + (i % 30) : 95} everyMs=${fate === 'end' ? 5 : 20} breakAfter=${fate === 'break' ? 5 + (i % 9) : 999}`

const messagesOf = (prompt: string) => [{ role: 'user', content: prompt }]

/** The units that the proxy holds for a prompt. */
function heldFor(prompt: string) {
  const input = Buffer.byteLength(JSON.stringify(messagesOf(prompt)))
  return { tokens: input + MAX_TOKENS, microdollars: input * 2 + MAX_TOKENS * 8 }
}

/** Sends a question. Returns the units that it must be charged once it has come to its end. */
async function ask({ url }: Proxy, i: number, fate: Fate, org = 'acme') {
  const prompt = promptOf(i, fate)
  const abort = new AbortController()
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'X-Org': org, 'X-User': `user${i % 4}` },
    body: JSON.stringify({ messages: messagesOf(prompt), max_tokens: MAX_TOKENS }),
    signal: abort.signal,
  })
  const read = async () => {
    let text = ''
    try {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        text += Buffer.from(chunk).toString('utf8')
        if (fate === 'hang up' && text.length > 400) abort.abort()
      }
    } catch {}
    const usage = /"prompt_tokens":(\d+),"completion_tokens":(\d+)/.exec(text)?.slice(1).map(Number)
    if (usage === undefined) return { isReported: false, ...heldFor(prompt) }
    return { isReported: true, tokens: usage[0] + usage[1], microdollars: usage[0] * 2 + usage[1] * 8 }
  }
  const remaining = response.headers.get('x-ratelimit-remaining-tokens')
  return { status: response.status, fate, remaining, charged: response.status === 200 ? read() : undefined }
}

describe('64 streams at once, of which some end, some break off, and some crash', () => {
  test('overspend nothing, and leave the rest of the budget', async () => {
    // The clock of this process is moved instead of waiting.
    let aheadMs = 0
    const clock = { now: () => Date.now() + aheadMs }
    const limiter = createLimiter({ rules: rulesOf(LIMITS), store: sqliteStore(database, { clock }), holds: holds() })
    const subject = { org: 'acme', user: 'nobody' }
    const used = (rule: string, org = 'acme'): number => limiter.get({ ...subject, org }, { rule })
    let checks = 0
    const check = (): void => {
      // Tokens that were billed before the budget is read are in it: charged, or held.
      const { inputTokens, outputTokens } = api.bill()
      const now = { tokens: used('tokens'), microdollars: used('microdollars'), streams: used('streams') }
      expect(now.tokens + used('tokens', 'other')).toBeGreaterThanOrEqual(inputTokens + outputTokens)
      expect(now.microdollars + used('microdollars', 'other')).toBeGreaterThanOrEqual(inputTokens * 2 + outputTokens * 8)
      expect(now.tokens).toBeLessThanOrEqual(LIMITS.tokens)
      expect(now.microdollars).toBeLessThanOrEqual(LIMITS.microdollars)
      expect(now.streams).toBeLessThanOrEqual(LIMITS.streams)
      checks += 1
    }
    const failures: unknown[] = []
    const watch = setInterval(() => {
      try {
        check()
      } catch (error) {
        failures.push(error)
      }
    }, 10)

    // All streams are asked for at once. The streams of the third proxy crash.
    const fates: Fate[] = ['end', 'hang up', 'break']
    const asked = await Promise.all(
      Array.from({ length: STREAMS }, (_, i) => ask(proxies[i % 3], i, i % 3 === 2 ? 'crash' : fates[Math.floor(i / 3) % 3])),
    )
    const open = asked.filter(({ status }) => status === 200)
    const denied = asked.filter(({ status }) => status === 429)
    expect(open.length + denied.length).toBe(STREAMS)
    expect(open.length).toBeGreaterThan(STREAMS / 2)
    expect(denied.length).toBeGreaterThan(0)
    for (const fate of [...fates, 'crash']) expect(open.filter((each) => each.fate === fate).length, fate).toBeGreaterThan(0)
    const crashed = open.filter(({ fate }) => fate === 'crash').length
    proxies[2].child.kill('SIGKILL')

    // Another organisation has a budget of its own.
    const other = await ask(proxies[0], 0, 'end', 'other')
    expect(other.status).toBe(200)
    const ofOther = await other.charged

    const charges = await Promise.all(open.map(async ({ fate, charged }) => ({ fate, ...(await charged) })))
    expect(charges.filter(({ fate, isReported }) => isReported !== (fate === 'end'))).toEqual([])
    clearInterval(watch)
    // The killed proxy's places are held until their ttl is over, and then free.
    const endMs = Date.now() + 5000
    while (used('streams') > crashed && Date.now() < endMs) await new Promise((resolve) => setTimeout(resolve, 10))
    expect(used('streams')).toBe(crashed)
    aheadMs = TTL_MS
    expect(failures).toEqual([])
    expect(checks).toBeGreaterThan(10)

    const sum = (unit: 'tokens' | 'microdollars') => charges.reduce((total, each) => total + (each[unit] ?? 0), 0)
    expect({ streams: used('streams'), tokens: used('tokens'), microdollars: used('microdollars') }).toEqual({
      streams: 0,
      tokens: sum('tokens'),
      microdollars: sum('microdollars'),
    })
    expect(used('tokens', 'other')).toBe(ofOther?.tokens)

    // All that is left can be held, and not one unit more.
    const rest = {
      tokens: LIMITS.tokens - used('tokens'),
      microdollars: LIMITS.microdollars - used('microdollars'),
      streams: LIMITS.streams,
    }
    for (const unit of ['tokens', 'microdollars', 'streams'] as const) {
      const more = limiter.reserve(subject, { hold: { ...rest, [unit]: rest[unit] + 1 } })
      expect(more.allowed, unit).toBe(false)
    }
    const all = limiter.reserve(subject, { hold: rest })
    expect(all.allowed).toBe(true)
    all.cancel()
    aheadMs = 0
    const again = await ask(proxies[1], 1, 'end')
    expect(again.status).toBe(200)
    expect(again.remaining).toBe(`${rest.tokens - heldFor(promptOf(1, 'end')).tokens}`)
    expect(await again.charged).toMatchObject({ isReported: true })
  })
})

describe('a client that would pay less than the API bills', () => {
  const LOW = { requests: 10, tokens: 9000, microdollars: 58_000, streams: 2, ttl: '1m' as Duration }
  const question = { messages: messagesOf('hello'), max_tokens: MAX_TOKENS }

  /** The proxy before an API that bills each question, and answers nothing. `asked` resolves to the body that the API got. */
  async function silentApi() {
    const store = memoryStore()
    const limiter = createLimiter({ rules: rulesOf(LOW), store, holds: holds() })
    let got = (_body: string): void => {}
    const asked = new Promise<string>((resolve) => {
      got = resolve
    })
    const server = createServer(async (request) => {
      let text = ''
      for await (const chunk of request) text += chunk
      got(text)
    })
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const abort = new AbortController()
    const handler = llmProxy({ upstream, limits: LOW, store })
    const send = (body: object) =>
      handler(
        new Request('http://localhost/', {
          method: 'POST',
          headers: { 'X-Org': 'acme', 'X-User': 'ada' },
          body: JSON.stringify(body),
          signal: abort.signal,
        }),
      )
    const used = (rule: string) => limiter.get({ org: 'acme', user: 'ada' }, { rule })
    return { send, asked, abort: () => abort.abort(), used, stop: () => server.closeAllConnections() }
  }

  test('one that hangs up before the first byte of the answer pays for what was held', async () => {
    const { send, asked, abort, used } = await silentApi()
    const answered = send(question)
    await asked
    abort()
    await answered
    expect([used('tokens'), used('streams')]).toEqual([heldFor('hello').tokens, 0])
  })

  test('an API that breaks off before its answer is free', async () => {
    const { send, asked, stop, used } = await silentApi()
    const answered = send(question)
    await asked
    stop()
    expect([(await answered).status, used('tokens'), used('streams')]).toEqual([502, 0, 0])
  })

  test('the API gets nothing that would cost more than was held', async () => {
    const { send, asked, abort } = await silentApi()
    const answered = send({ ...question, model: 'small', n: 100, tools: [{ type: 'function' }], max_completion_tokens: 9999 })
    expect(Object.keys(JSON.parse(await asked)).sort()).toEqual(['max_tokens', 'messages', 'model', 'stream', 'stream_options'])
    abort()
    await answered
  })
})
