// Figures over HTTP: the whole fleet on a shared database, and the history of an instance.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { until } from '../../../test/servers/redis-server.mjs'
import { advance, START, startService } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'

const HOUR_MS = 3_600_000

test('instances on one database are shown together, and one that has stopped stays in the list as such', async () => {
  const flags = { store: `sqlite:${join(temporaryFolder(), 'shared.db')}` }
  const one = await startService({ flags })
  const two = await startService({ flags, key: one.key })
  for (const [service, checks] of [
    [one, 2],
    [two, 3],
  ] as const) {
    await until('the key', async () => (await service.call('GET', '/v1/status')).status === 200)
    for (let i = 0; i < checks; i++) await service.call('POST', '/v1/check', { client_id: 'ada', route: '/' })
  }
  const fleetOf = async (service: typeof one) => (await service.call('GET', '/v1/fleet')).body.data
  await until('both', async () => (await fleetOf(one)).up === 2, 15_000)
  const seen = await fleetOf(one)
  expect(seen.instances).toHaveLength(2)
  expect(seen.instances[0]).toMatchObject({
    self: true,
    state: 'ready',
    version: expect.stringMatching(/^\d/),
    started_at: new Date(START).toISOString(),
    allowed: 2,
    denied: 0,
    per_second: 2 / 60,
  })
  expect(seen).toMatchObject({ unreadable: 0, seconds: 120, from: START / 1000 - 119, problem: null })
  await two.close()
  const isStopped = async () => (await fleetOf(one)).instances[1].state === 'stopped'
  await until('the end of the other', isStopped, 15_000)
  const left = await fleetOf(one)
  expect(left.instances[1]).toMatchObject({ self: false, allowed: 3 })
  expect([left.up, left.totals.allowed, left.allowed.at(-1)]).toEqual([1, 2, 2])
})

test('without a shared database the fleet is the instance; it needs the scope read', async () => {
  const { call } = await startService()
  expect((await call('GET', '/v1/fleet')).body.data).toMatchObject({ instances: [{ self: true }], up: 1, problem: null })
  const { secret } = (await call('POST', '/v1/keys', { name: 'shop', scopes: ['check'] })).body.data
  expect((await call('GET', '/v1/fleet', undefined, { 'api-key': secret })).status).toBe(403)
})

test('the history has a month of hours, for all policies and for one', async () => {
  const { call } = await startService()
  await call('PUT', '/v1/policies/gold', { client: 'gold', rules: '1/hour' })
  const check = (client_id: string) => call('POST', '/v1/check', { client_id, route: '/' })
  await check('gold')
  await check('gold')
  advance(2 * HOUR_MS)
  await check('ada')
  const { data } = (await call('GET', '/v1/history?hours=3')).body
  expect(data).toMatchObject({ hours: 3, allowed: [1, 0, 1], denied: [1, 0, 0], started_at: new Date(START).toISOString() })
  expect(data.from).toBe(Math.floor(START / HOUR_MS) * 3600)
  expect(data.policies.map(({ name, allowed, denied }: Record<string, unknown>) => [name, allowed, denied])).toEqual([
    ['gold', 1, 1],
    ['default', 1, 0],
  ])
  expect((await call('GET', '/v1/history?hours=3&policy=gold')).body.data).toMatchObject({ allowed: [1, 0, 0] })
  expect((await call('GET', '/v1/history')).body.data.allowed).toHaveLength(744)
  // The ring of seconds has forgotten the first hour, the ring of hours has not.
  expect((await call('GET', '/v1/stats')).body.data.denied.some((count: number) => count > 0)).toBe(false)
  expect((await call('GET', '/v1/history?policy=nobody')).status).toBe(404)
  expect((await call('GET', '/v1/history?hours=745')).status).toBe(400)
})
