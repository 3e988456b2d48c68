// Status, fields and body of allowed and denied requests.

import { expect, test } from 'vitest'
import { fixedWindow } from '../../../src/algorithms/fixed-window/fixed-window.ts'
import { tokenBucket } from '../../../src/algorithms/token-bucket/token-bucket.ts'
import { createLimiter } from '../../../src/create-limiter.ts'
import { draft6Style, draft7Style, legacyStyle } from '../../../src/http/earlier-styles.ts'
import { retryHints } from '../../../src/http/retry-hints.ts'
import { anthropicStyle, openaiStyle } from '../../../src/http/vendor-styles.ts'
import { memoryStore } from '../../../src/stores/memory/memory-store.ts'
import { fakeClock } from '../../../src/testing/fake-clock.ts'
import type { Framework } from '../frameworks/framework.ts'
import { serving } from '../serving.ts'

const DAILY = fixedWindow({ limit: 3, window: '1d', name: 'daily' })

export function responseSuite(framework: Framework): void {
  const serve = serving(framework)

  test('an allowed one has the fields of every rule', async () => {
    const rules = [tokenBucket({ capacity: 20, refill: 10, every: '1s', name: 'burst' }), DAILY]
    const { ask, clock } = await serve({ rules })
    await ask()
    clock.advance(1000)
    const { status, headers, body } = await ask()
    expect({ status, body }).toEqual({ status: 200, body: 'hello' })
    expect(headers['ratelimit-policy']).toBe('"burst";q=20;w=2, "daily";q=3;w=86400')
    expect(headers.ratelimit).toBe('"burst";r=19;t=1, "daily";r=1;t=86399')
    expect(headers).not.toHaveProperty('retry-after')
  })

  test('a denied one has them too, when to come back, and a problem as its body', async () => {
    const { ask, clock } = await serve({ rules: DAILY })
    for (let i = 0; i < 3; i++) await ask()
    clock.advance(400)
    const { status, headers, body } = await ask()
    expect(status).toBe(429)
    expect(headers['ratelimit-policy']).toBe('"daily";q=3;w=86400')
    expect(headers.ratelimit).toBe('"daily";r=0;t=86400')
    expect(headers['retry-after']).toBe('86400')
    expect(headers['content-type'].split(';')[0]).toBe('application/problem+json')
    expect(JSON.parse(body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota Exceeded',
      status: 429,
      detail: 'Try again in 86400 s.',
      'violated-policies': ['daily'],
    })
    clock.advance(86_399_600)
    expect((await ask()).status).toBe(200)
  })

  test('a denied one that waiting does not cure has no Retry-After, and by option says so', async () => {
    const type = 'https://api.example.com/problems/budget-spent'
    const hints = retryHints({ milliseconds: true, shouldRetry: true, problemType: type })
    const { ask, clock } = await serve({ rules: DAILY, retryWithinMs: 60_000, headers: ['draft-11', hints] })
    for (let i = 0; i < 3; i++) expect((await ask()).headers).not.toHaveProperty('x-should-retry')
    const spent = await ask()
    expect(spent.status).toBe(429)
    expect(spent.headers).toMatchObject({ ratelimit: '"daily";r=0;t=86400', 'x-should-retry': 'false' })
    expect(spent.headers).not.toHaveProperty('retry-after')
    expect(spent.headers).not.toHaveProperty('retry-after-ms')
    expect(JSON.parse(spent.body)).toMatchObject({ type, detail: 'Waiting does not help.' })
    clock.advance(86_400_000 - 59_500)
    const soon = await ask()
    expect(soon.headers).toMatchObject({ 'retry-after': '60', 'retry-after-ms': '59500' })
    expect(soon.headers).not.toHaveProperty('x-should-retry')
    expect(JSON.parse(soon.body).type).toMatch(/#quota-exceeded$/)
  })

  test("a limiter's own retryWithinMs holds too", async () => {
    const limiter = createLimiter({ rules: DAILY, store: memoryStore({ clock: fakeClock() }), retryWithinMs: 60_000 })
    const { ask } = await serve({ limiter })
    for (let i = 0; i < 3; i++) await ask()
    const { status, headers } = await ask()
    expect(status).toBe(429)
    for (const name of ['retry-after', 'retry-after-ms', 'x-should-retry']) expect(headers).not.toHaveProperty(name)
  })

  test('in the styles of LLM APIs', async () => {
    const rules = fixedWindow({ limit: 3, window: '1d', name: 'requests' })
    const { ask } = await serve({ rules, headers: ['draft-11', openaiStyle, anthropicStyle] })
    expect((await ask()).headers).toMatchObject({
      ratelimit: '"requests";r=2;t=86400',
      'x-ratelimit-limit-requests': '3',
      'x-ratelimit-remaining-requests': '2',
      'x-ratelimit-reset-requests': '24h0m0s',
      'anthropic-ratelimit-requests-limit': '3',
      'anthropic-ratelimit-requests-remaining': '2',
      'anthropic-ratelimit-requests-reset': expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    })
  })

  test.each([
    ['draft-11', 'draft-11', { 'ratelimit-policy': '"daily";q=3;w=86400', ratelimit: '"daily";r=2;t=86400' }],
    ['draft-10', 'draft-10', { 'ratelimit-policy': '"daily";q=3;w=86400', ratelimit: '"daily";r=2;t=86400' }],
    ['draft-7', draft7Style, { 'ratelimit-policy': '3;w=86400', ratelimit: 'limit=3, remaining=2, reset=86400' }],
    ['draft-6', draft6Style, { 'ratelimit-limit': '3', 'ratelimit-remaining': '2', 'ratelimit-reset': '86400' }],
    ['legacy', legacyStyle, { 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': '2' }],
    ['false', false, {}],
  ] as const)('in the style %s', async (_, headers, expected) => {
    const { ask } = await serve({ rules: DAILY, headers })
    const reply = await ask()
    expect(reply.headers).toMatchObject(expected)
    const isRateLimitField = (name: string): boolean => name.includes('ratelimit')
    if (headers === false) expect(Object.keys(reply.headers).filter(isRateLimitField)).toEqual([])
  })

  test('an error of the handler is answered by the framework', async () => {
    const { ask, errors } = await serve(
      { rules: DAILY },
      {
        handle: async () => {
          throw new Error('oops')
        },
      },
    )
    expect((await ask()).status).toBe(500)
    expect(errors).toMatchObject([{ message: 'oops' }])
  })
}
