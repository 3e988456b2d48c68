// Callbacks: onDecision, onDenied, and shadow mode with onShadowDenied.

import { expect, test } from 'vitest'
import { fixedWindow } from '../../../src/algorithms/fixed-window/fixed-window.ts'
import { parseRule } from '../../../src/algorithms/parse-rule.ts'
import { clientList } from '../../../src/http/client-list.ts'
import type { Framework } from '../frameworks/framework.ts'
import { serving, statuses } from '../serving.ts'

const DAILY = fixedWindow({ limit: 3, window: '1d', name: 'daily' })

export function callbackSuite(framework: Framework): void {
  const serve = serving(framework)

  test('onDenied is called for a denial and changes the response', async () => {
    const heard: unknown[] = []
    const { ask } = await serve({
      rules: DAILY,
      key: (request) => framework.asked(request).header('x-user') ?? '',
      onDenied: ({ request, key, decision, denial }) => {
        heard.push([framework.asked(request).path, key, decision?.rule])
        return { status: 420, headers: { 'content-type': 'text/plain' }, body: `${denial.headers['Retry-After']} s` }
      },
    })
    const request = { path: '/x', headers: { 'X-User': 'ada' } }
    for (let i = 0; i < 3; i++) await ask(request)
    const { status, headers, body } = await ask(request)
    expect({ status, body }).toEqual({ status: 420, body: '86400 s' })
    expect(headers['content-type'].split(';')[0]).toBe('text/plain')
    expect(headers['retry-after']).toBe('86400')
    expect(heard).toEqual([['/x', 'ada', 'daily']])
  })

  test('a field that onDenied sets to undefined is not sent', async () => {
    const { ask, errors } = await serve({
      rules: parseRule('1/minute'),
      onDenied: () => ({ headers: { 'retry-after': undefined, RateLimit: undefined } }),
    })
    await ask()
    const { status, headers } = await ask()
    expect([status, errors]).toEqual([429, []])
    for (const name of ['retry-after', 'ratelimit']) expect(headers).not.toHaveProperty(name)
    expect(headers['ratelimit-policy']).toBe('"fixed-window:1/1m";q=1;w=60')
  })

  test.each([204, 304])('a denial with status %i has no body', async (status) => {
    const { ask, errors } = await serve({ rules: parseRule('1/minute'), onDenied: () => ({ status }) })
    await ask()
    const denied = await ask()
    expect(errors).toEqual([])
    expect(denied).toMatchObject({ status, body: '', headers: { 'retry-after': '60' } })
    expect(denied.headers['content-type']).not.toBe('application/problem+json')
  })

  test.each([
    ['a Response', () => new Response('no', { status: 403 }), 'needs body to be a string, got an object'],
    ['a Response without a body', () => new Response(null, { status: 204 }), 'needs body to be a string, got null'],
    ['a status that is none', () => ({ status: 42 }), 'needs status to be a whole number from 200 to 599, got 42'],
    ['Headers', () => ({ headers: new Headers({ 'X-A': 'b' }) }), 'needs headers to be an object of strings, got an object'],
    ['a number as a header', () => ({ headers: { 'X-A': 5 } }), 'needs the header "X-A" to be a string'],
  ])('onDenied that returns %s fails with a clear error', async (_, onDenied, message) => {
    const { ask, errors } = await serve({ rules: parseRule('1/minute'), onDenied: onDenied as never })
    expect(statuses([await ask(), await ask()])).toEqual([200, 500])
    expect(errors).toMatchObject([{ code: 'ERR_OPTION', option: 'onDenied', message: expect.stringContaining(message) }])
  })

  test('onDenied that returns something that is no object changes nothing', async () => {
    const heard: unknown[] = []
    const onDenied = ({ key }: { readonly key: unknown }) => heard.push(key)
    const { ask } = await serve({ rules: parseRule('1/minute'), onDenied: onDenied as never })
    expect(statuses([await ask(), await ask()])).toEqual([200, 429])
    expect(heard).toHaveLength(1)
  })

  test('what onDenied throws goes to the error handling', async () => {
    const { ask, errors } = await serve({
      rules: parseRule('1/minute'),
      onDenied: () => {
        throw new Error('too many')
      },
    })
    expect(statuses([await ask(), await ask()])).toEqual([200, 500])
    expect(errors).toMatchObject([{ message: 'too many' }])
  })

  test('shadow mode counts and reports, and lets everybody through without fields', async () => {
    const reported: unknown[] = []
    const decided: boolean[] = []
    const { ask } = await serve({
      rules: DAILY,
      mode: 'shadow',
      block: clientList({ keys: ['mallory'] }),
      key: (request) => framework.asked(request).header('x-user') ?? 'ada',
      onDecision: ({ decision }) => decided.push(decision.allowed),
      onShadowDenied: ({ key, decision }) => reported.push([key, decision?.retryAfterMs]),
    })
    const replies = [await ask(), await ask(), await ask(), await ask(), await ask({ headers: { 'X-User': 'mallory' } })]
    expect(statuses(replies)).toEqual([200, 200, 200, 200, 200])
    for (const { headers } of replies) expect(headers).not.toHaveProperty('ratelimit')
    expect(decided).toEqual([true, true, true, false])
    expect(reported).toEqual([
      ['ada', 86_400_000],
      ['mallory', undefined],
    ])
  })
}
