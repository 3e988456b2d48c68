// Status, fields and body of allowed and denied requests.

import { expect, test } from 'vitest'
import { fixedWindow } from '../../../src/algorithms/fixed-window/fixed-window.ts'
import { tokenBucket } from '../../../src/algorithms/token-bucket/token-bucket.ts'
import { draft6, draft7, legacy } from '../../../src/http/earlier-styles.ts'
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

  test.each([
    ['draft7', draft7, { 'ratelimit-policy': '3;w=86400', ratelimit: 'limit=3, remaining=2, reset=86400' }],
    ['draft6', draft6, { 'ratelimit-limit': '3', 'ratelimit-remaining': '2', 'ratelimit-reset': '86400' }],
    ['legacy', legacy, { 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': '2' }],
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
