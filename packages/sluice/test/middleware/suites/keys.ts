// Keys, costs, plans and lists of requests.

import { expect, test } from 'vitest'
import { fixedWindow } from '../../../src/algorithms/fixed-window/fixed-window.ts'
import { parseRule } from '../../../src/algorithms/parse-rule.ts'
import { clientAddress } from '../../../src/http/client-address.ts'
import { clientList } from '../../../src/http/client-list.ts'
import { rulesByRequest } from '../../../src/middleware/requests.ts'
import type { Framework } from '../frameworks/framework.ts'
import { serving, statuses } from '../serving.ts'

const DAILY = fixedWindow({ limit: 3, window: '1d', name: 'daily' })

export function keySuite(framework: Framework): void {
  const serve = serving(framework)

  test('the address at the other end of the socket, whatever the request says', async () => {
    const { ask } = await serve({ rules: parseRule('2/minute') })
    const from = (address: string) => ask({ headers: { 'X-Forwarded-For': address } })
    expect(statuses([await from('1.1.1.1'), await from('2.2.2.2'), await from('3.3.3.3')])).toEqual([200, 200, 429])
  })

  test('behind a trusted proxy, the client; what it writes itself changes nothing', async () => {
    const { ask } = await serve({ rules: parseRule('1/minute'), address: clientAddress({ trustProxy: ['127.0.0.0/8'] }) })
    const from = (list: string) => ask({ headers: { 'X-Forwarded-For': list } })
    expect(statuses([await from('203.0.113.9'), await from('6.6.6.6, 203.0.113.9'), await from('203.0.113.10')])).toEqual([
      200, 429, 200,
    ])
  })

  test('a proxy that is not trusted causes one warning', async () => {
    const warnings: string[] = []
    const { ask } = await serve({ rules: parseRule('9/minute'), warn: ({ code }) => warnings.push(code) })
    for (let i = 0; i < 3; i++) await ask({ headers: { 'X-Forwarded-For': '203.0.113.9' } })
    expect(warnings).toEqual(['WARN_UNTRUSTED_PROXY'])
  })

  test('the options key and cost, as values or promises', async () => {
    for (const isLater of [false, true]) {
      const soon = <T>(value: T) => (isLater ? new Promise<T>((resolve) => setImmediate(resolve, value)) : value)
      const { ask } = await serve({
        rules: parseRule('10/minute'),
        key: (request) => soon(framework.asked(request).header('x-user') ?? ''),
        cost: (request) => soon(Number(framework.asked(request).header('x-cost'))),
      })
      const spend = async (user: string, cost: number) => (await ask({ headers: { 'X-User': user, 'X-Cost': `${cost}` } })).status
      expect([await spend('ada', 8), await spend('ada', 3), await spend('bob', 10), await spend('ada', 2)]).toEqual([
        200, 429, 200, 200,
      ])
    }
  })

  test('rules that depend on the request are plans, each with its own limit', async () => {
    const { ask } = await serve({
      rules: rulesByRequest((request) =>
        fixedWindow({ limit: framework.asked(request).header('x-plan') === 'pro' ? 4 : 2, window: '1m', name: 'plan' }),
      ),
    })
    const on = async (plan: string) => (await ask({ headers: { 'X-Plan': plan } })).headers.ratelimit
    expect([await on('free'), await on('free'), await on('free'), await on('pro'), await on('pro')]).toEqual([
      '"plan";r=1;t=60',
      '"plan";r=0;t=60',
      '"plan";r=0;t=60',
      // A client that changes its plan keeps its units used, because the rule keeps its name.
      '"plan";r=1;t=60',
      '"plan";r=0;t=60',
    ])
  })

  test('skip, allow and block', async () => {
    const key = (request: unknown) => framework.asked(request).header('x-user') ?? 'nobody'
    const { ask } = await serve({
      rules: parseRule('1/minute'),
      key,
      skip: (request) => framework.asked(request).path === '/health',
      allow: clientList({ keys: ['root'] }),
      block: clientList({ addresses: ['203.0.113.0/24'], keys: ['mallory'] }),
      address: clientAddress({ trustProxy: 1 }),
    })
    await ask()
    expect((await ask()).status).toBe(429)
    const skipped = await ask({ path: '/health' })
    expect(skipped.status).toBe(200)
    expect(skipped.headers).not.toHaveProperty('ratelimit')
    for (let i = 0; i < 3; i++) expect((await ask({ headers: { 'X-User': 'root' } })).status).toBe(200)
    const blocked = await ask({ headers: { 'X-User': 'mallory' } })
    expect(blocked.status).toBe(403)
    expect(JSON.parse(blocked.body)).toEqual({ type: 'about:blank', title: 'Forbidden', status: 403 })
    expect((await ask({ headers: { 'X-User': 'root', 'X-Forwarded-For': '203.0.113.7' } })).status).toBe(403)
  })

  test('two keys in one decision: if one rule denies, none is charged', async () => {
    const { ask } = await serve({
      rules: [
        fixedWindow({ limit: 4, window: '1m', name: 'address', per: 'address' }),
        fixedWindow({ limit: 2, window: '1m', name: 'account', per: 'account' }),
      ],
      key: (request) => {
        const { header } = framework.asked(request)
        return { address: header('x-address') ?? '', account: header('x-account') ?? '' }
      },
    })
    const login = (address: string, account: string) => ask({ headers: { 'X-Address': address, 'X-Account': account } })
    expect((await login('a', 'ada')).headers.ratelimit).toBe('"address";r=3;t=60, "account";r=1;t=60')
    await login('a', 'ada')
    const denied = await login('a', 'ada')
    expect(denied.status).toBe(429)
    expect(denied.headers.ratelimit).toBe('"address";r=2;t=60, "account";r=0;t=60')
    expect(JSON.parse(denied.body)['violated-policies']).toEqual(['account'])
    expect((await login('a', 'bob')).headers.ratelimit).toBe('"address";r=1;t=60, "account";r=1;t=60')
  })

  test('a key that is none is an error, and nothing is counted', async () => {
    const { ask, errors } = await serve({ rules: DAILY, key: (request) => framework.asked(request).header('x-user') as string })
    expect((await ask()).status).toBe(500)
    expect(errors).toMatchObject([{ code: 'ERR_KEY' }])
  })
}
