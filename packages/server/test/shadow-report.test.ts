// GET /v1/policies/{name}/shadow: what a policy in shadow mode would have denied.

import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { until } from '../../../test/servers/redis-server.mjs'
import { advance, startService, type TestService } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'

let service: TestService
beforeEach(async () => {
  service = await startService()
})

const check = (client_id: string, route = '/a') => service.call('POST', '/v1/check', { client_id, route })
const put = (name: string, spec: object) => service.call('PUT', `/v1/policies/${name}`, spec)
const report = async (name: string, query = '') => (await service.call('GET', `/v1/policies/${name}/shadow${query}`)).body.data

test('it has checks, denials by rule and the clients, since the first check', async () => {
  const { headers } = await put('a', { route: '/a', rules: ['2/minute', '3/hour'], mode: 'shadow' })
  expect(await report('a')).toMatchObject({
    policy: 'a',
    etag: headers.get('etag'),
    since: null,
    checks: 0,
    denied: 0,
    clients: [],
  })
  for (let i = 0; i < 4; i++) await check('ada')
  advance(61_000)
  for (let i = 0; i < 3; i++) await check('ada')
  await check('bob')
  expect(await report('a')).toMatchObject({
    ...{ since: '2027-01-15T08:00:19.000Z', checks: 8, denied: 4, unlisted_at_most: 0 },
    rules: [
      { name: 'rule-1', denied: 2 },
      { name: 'rule-2', denied: 2 },
    ],
    clients: [{ client_id: 'ada', denied: 4, error: 0 }],
    instances: [{ self: true, since: '2027-01-15T08:00:19.000Z', checks: 8, denied: 4 }],
    ...{ uncounted_instances: 0, problem: null },
  })
})

test('on a shared database it has the sums of all instances, and what each of them counted', async () => {
  const flags = { store: `sqlite:${join(temporaryFolder(), 'shared.db')}` }
  const one = await startService({ flags })
  await one.call('PUT', '/v1/policies/a', { route: '/a', rules: '2/minute', mode: 'shadow' })
  const two = await startService({ flags, key: one.key })
  await until('the policy', async () => (await two.call('GET', '/v1/policies/a')).status === 200)
  for (const [instance, times] of [
    [one, 3],
    [two, 4],
  ] as const) {
    for (let i = 0; i < times; i++) await instance.call('POST', '/v1/check', { client_id: 'ada', route: '/a' })
  }
  const reportOf = async ({ call }: TestService) => (await call('GET', '/v1/policies/a/shadow')).body.data
  for (const instance of [one, two]) {
    // An instance publishes its counts every five seconds.
    await until('the sums', async () => (await reportOf(instance)).checks === 7, 20_000)
    const own = instance === one ? { checks: 3, denied: 1 } : { checks: 4, denied: 4 }
    expect(await reportOf(instance)).toMatchObject({
      ...{ checks: 7, denied: 5, uncounted_instances: 0, problem: null, unlisted_at_most: 0 },
      rules: [{ name: 'rule-1', denied: 5 }],
      clients: [{ client_id: 'ada', denied: 5, error: 0 }],
      instances: [{ self: true, ...own }, { self: false }],
    })
  }
})

test('a changed policy begins anew', async () => {
  await put('a', { route: '/a', rules: '1/minute', mode: 'shadow' })
  for (let i = 0; i < 3; i++) await check('ada')
  expect(await report('a')).toMatchObject({ checks: 3, denied: 2 })
  await put('a', { route: '/a', rules: '5/minute', mode: 'shadow' })
  await check('ada')
  expect(await report('a')).toMatchObject({ checks: 1, denied: 0 })
})

test('a policy that always applies has a report of its own, and counts only what passes the enforced ones', async () => {
  await put('a', { route: '/a', rules: '3/minute' })
  await put('all', { applies: 'always', rules: '1/minute', mode: 'shadow', scope: 'policy' })
  for (let i = 0; i < 5; i++) await check('ada')
  expect(await report('all')).toMatchObject({ checks: 3, denied: 2, rules: [{ name: 'rule-1', denied: 2 }] })
})

test('a simulation is not counted', async () => {
  await put('a', { route: '/a', rules: '1/minute', mode: 'shadow' })
  for (let i = 0; i < 3; i++) await check('ada')
  await service.call('POST', '/v1/simulate', {})
  expect(await report('a')).toMatchObject({ checks: 3, denied: 2 })
})

test('the list of clients is bounded, and says how many denials others have at most', async () => {
  await put('a', { route: '/a', rules: '1/minute', mode: 'shadow' })
  for (const [client, checks] of [
    ['ada', 4],
    ['bob', 3],
    ['eve', 2],
  ] as const)
    for (let i = 0; i < checks; i++) await check(client)
  const { clients, unlisted_at_most } = await report('a', '?limit=1')
  expect({ clients, unlisted_at_most }).toEqual({ clients: [{ client_id: 'ada', denied: 3, error: 0 }], unlisted_at_most: 2 })
})

test('there is none for a policy that is unknown or not in shadow mode', async () => {
  await put('a', { route: '/a', rules: '1/minute' })
  expect(await service.call('GET', '/v1/policies/a/shadow')).toMatchObject({
    status: 404,
    body: { meta: { error: 'ERR_NOT_FOUND' } },
  })
  expect(await service.call('GET', '/v1/policies/b/shadow')).toMatchObject({
    status: 404,
    body: { meta: { error: 'ERR_POLICY_UNKNOWN' } },
  })
})
