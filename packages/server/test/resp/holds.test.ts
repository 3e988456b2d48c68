// SLUICE.CHECK and holds over RESP: the same decisions, tokens and errors as over HTTP.

import { createClient } from '@redis/client'
import { expect, onTestFinished, test } from 'vitest'
import { advance } from '../running-service.ts'
import { type RespService, startResp } from './resp-service.ts'

type Fields = Readonly<Record<string, unknown>>

/** A client that reads maps. */
async function setUp() {
  const service = await startResp()
  const open = async (key = service.key) => {
    const client = createClient({ RESP: 3, url: `redis://:${key}@127.0.0.1:${service.port}` })
    await client.connect()
    onTestFinished(() => client.destroy())
    return async (...args: (string | number)[]): Promise<Fields> => plain(await client.sendCommand(args.map(String))) as Fields
  }
  return { ...service, open, ask: await open() }
}

/** Maps as plain objects. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]))
}

const putDefault = ({ call }: Pick<RespService, 'call'>, rules: unknown) => call('PUT', '/v1/policies/default', { rules })

test('a check counts on the same counter as over HTTP, and says the same', async () => {
  const service = await setUp()
  const { ask, call } = service
  await putDefault(service, '3/minute')
  expect(await ask('SLUICE.CHECK', 'ada', '/é', 2)).toEqual({
    status: 'Allow',
    limit: 3,
    remain: 1,
    reset_in_second: expect.any(Number),
    policy: 'default',
    rule: 'rule-1',
  })
  const { body } = await call('POST', '/v1/check', { client_id: 'ada', route: '/é' })
  expect(body.data).toMatchObject({ status: 'Allow', remain: 0 })
  const denied = await ask('SLUICE.CHECK', 'ada', '/é')
  const overHttp = await call('POST', '/v1/check', { client_id: 'ada', route: '/é' })
  expect(denied).toEqual(overHttp.body.data)
})

test('attributes choose the policy of a check and of a reserve', async () => {
  const { ask, call } = await setUp()
  await call('PUT', '/v1/policies/free', { where: { plan: 'free' }, rules: '20/minute' })
  expect(await ask('SLUICE.CHECK', 'ada', '/', 'ATTR', 'plan', 'free')).toMatchObject({ policy: 'free', limit: 20 })
  expect(await ask('SLUICE.CHECK', 'ada', '/', 1, 'attr', 'plan', 'pro', 'ATTR', 'region', 'eu')).toMatchObject({
    policy: 'default',
  })
  expect(await ask('SLUICE.RESERVE', 'ada', '/', 'HOLD', 1, 'ATTR', 'plan', 'free')).toMatchObject({
    policy: 'free',
    status: 'Allow',
  })
  const many = Array.from({ length: 17 }, (_, i) => ['ATTR', `a${i}`, 'x']).flat()
  await expect(ask('SLUICE.CHECK', 'ada', '/', ...many)).rejects.toThrow(/^ERR_INPUT the check: attributes/)
})

test('units are held, settled with what was used, and free again', async () => {
  const service = await setUp()
  const { ask } = service
  await putDefault(service, [{ algorithm: 'fixed-window', limit: 100, window: '1h', name: 'tokens' }])
  const held = await ask('SLUICE.RESERVE', 'ada', '/', 'HOLD', 'RULE', 'tokens', 80, 'TTL', '2m')
  expect(held).toMatchObject({ status: 'Allow', remain: 20, granted: { tokens: 80 }, token: expect.stringMatching(/^hold1_/) })
  expect(await ask('SLUICE.RESERVE', 'ada', '/', 'hold', 30)).toMatchObject({
    status: 'Deny',
    retry_after_ms: expect.any(Number),
  })
  expect(await ask('SLUICE.RESERVE', 'ada', '/', 'HOLD', 30, 'ATLEAST', 5, 'EXPIRED', 'release')).toMatchObject({
    granted: { tokens: 20 },
  })
  const extended = await ask('SLUICE.EXTEND', String(held.token), '600000')
  expect(extended).toMatchObject({
    client_id: 'ada',
    route: '/',
    policy: 'default',
    expires_at: new Date(Date.now() + 600_000).toISOString(),
  })
  advance(121_000)
  expect(await ask('SLUICE.SETTLE', String(held.token), 'USED', 7)).toEqual({
    client_id: 'ada',
    route: '/',
    policy: 'default',
    used: { tokens: 7 },
  })
  await expect(ask('SLUICE.SETTLE', String(held.token))).rejects.toThrow(/^ERR_HOLD /)
})

test('a hold of one door can be ended at the other', async () => {
  const service = await setUp()
  const { ask, call } = service
  const overResp = await ask('SLUICE.RESERVE', 'ada', '/', 'HOLD', 5)
  expect((await call('POST', '/v1/cancel', { token: overResp.token })).status).toBe(200)
  const overHttp = await call('POST', '/v1/reserve', { client_id: 'ada', route: '/', hold: 5 })
  expect(await ask('SLUICE.CANCEL', overHttp.body.data.token)).toEqual({ client_id: 'ada', route: '/', policy: 'default' })
  expect((await ask('SLUICE.CHECK', 'ada', '/')).remain).toBe(99)
})

test('a token of another key is refused', async () => {
  const { ask, call, open } = await setUp()
  const { body } = await call('POST', '/v1/keys', { name: 'other', scopes: ['check'] })
  const other = await open(body.data.secret)
  const { token } = await ask('SLUICE.RESERVE', 'ada', '/', 'HOLD', 5)
  await expect(other('SLUICE.SETTLE', String(token))).rejects.toThrow(/^ERR_HOLD_TOKEN /)
})

test.each([
  [['SLUICE.CHECK', '', '/'], /^ERR_INPUT the check: client_id must be text of 1 to 256 characters/],
  [['SLUICE.CHECK', 'a'.repeat(257), '/'], /^ERR_INPUT the check: client_id/],
  [['SLUICE.CHECK', 'a', 'r'.repeat(2049)], /^ERR_INPUT the check: route/],
  [['SLUICE.CHECK', 'a', '/', '0'], /^ERR_INPUT the check: cost must be a whole number of at least 1/],
  [['SLUICE.CHECK', 'a', '/', '1.5'], /^ERR_INPUT cost must be a whole number, got '1.5'/],
  [['SLUICE.CHECK', 'a', '/', '9223372036854775807'], /^ERR_INPUT the check: cost/],
  [['SLUICE.CHECK', 'a', '/', '1', 'ATTRS'], /^ERR_INPUT 'ATTRS' is not an option here: expected ATTR/],
  [['SLUICE.CHECK', 'a', '/', 'ATTR', 'plan'], /^ERR_INPUT the value of the attribute plan is missing/],
  [['SLUICE.RESERVE', 'a', '/', 'HOLD'], /^ERR_INPUT hold is missing/],
  [['SLUICE.RESERVE', 'a', '/', 'NOSUCH'], /^ERR_INPUT 'NOSUCH' is not an option here: expected HOLD/],
  [['SLUICE.RESERVE', 'a', '/', 'HOLD', '1', 'EXPIRED', 'never'], /^ERR_INPUT the reserve: expired/],
  [['SLUICE.RESERVE', 'a', '/', 'HOLD', '1', 'TTL', 'soon'], /^ERR_INPUT the reserve: ttl/],
  [['SLUICE.SETTLE', 'nonsense'], /^ERR_HOLD_TOKEN /],
  [['SLUICE.SETTLE', 'nonsense', 'USED', '-1'], /^ERR_INPUT the settle: used/],
  [['SLUICE.EXTEND', 'nonsense', 'soon'], /^ERR_INPUT the extend: ttl/],
])('%j is answered with an error', async (args, error) => {
  const { ask } = await setUp()
  await expect(ask(...args)).rejects.toThrow(error)
})
