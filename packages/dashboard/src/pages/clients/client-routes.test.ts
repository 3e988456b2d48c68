import { expect, test } from 'vitest'
import type { PolicySpec } from '../../api/answers.ts'
import { covers, distinct, routesOfPolicies, type SharedBy, together, withShared } from './client-routes.ts'

test('a pattern covers what it spells, or what begins as it does', () => {
  expect([
    covers('acme', 'acme'),
    covers('acme', 'acme2'),
    covers('ac*', 'acme'),
    covers('*', 'acme'),
    covers('', 'acme'),
  ]).toEqual([true, false, true, true, false])
})

test('routes that policies spell out for a client are worth a look', () => {
  const policy = (client: string, route: string) => ({ client, route }) as PolicySpec
  const policies = [policy('*', '/orders'), policy('acme', '/exports'), policy('globex', '/private'), policy('ac*', '/v1/*')]
  expect(routesOfPolicies(policies, 'acme')).toEqual(['/orders', '/exports'])
  expect(distinct(['b', 'a', 'b', 'c'], 2)).toEqual(['b', 'a'])
})

test('routes that a policy counts together are shown once, by the first of them', () => {
  const routes = ['/a', '/b', '/c', '/d']
  let sharedBy: SharedBy = new Map([['/gone', 'plan']])
  for (const [route, policy] of [
    ['/b', 'plan'],
    ['/c', 'other'],
    ['/d', 'plan'],
    ['/gone', undefined],
  ] as const)
    sharedBy = withShared(sharedBy, route, policy)
  expect(routes.map((route) => together(route, routes, sharedBy))).toEqual([['/a'], ['/b', '/d'], ['/c'], []])
  expect(sharedBy.size).toBe(3)
  expect(withShared(sharedBy, '/b', 'plan')).toBe(sharedBy)
})
