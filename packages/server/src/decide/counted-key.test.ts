import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Policy } from '../policies/policy.ts'
import { countedKey } from './counted-key.ts'

const policy = (name: string, scope: Policy['scope']): Policy => ({ name, scope }) as Policy

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[0-9:rp]{0,6}$/))

test('different pairs of client and route have different keys, whatever they contain', () => {
  fc.assert(
    fc.property(text, text, text, text, (client, route, otherClient, otherRoute) => {
      const p = policy('default', 'route')
      const isSame = client === otherClient && route === otherRoute
      expect(countedKey(p, client, route) === countedKey(p, otherClient, otherRoute)).toBe(isSame)
    }),
  )
})

test('with scope policy the route does not matter, and different policies or clients have different keys', () => {
  fc.assert(
    fc.property(text, text, text, text, (name, client, otherName, otherClient) => {
      const key = countedKey(policy(name, 'policy'), client, '/a')
      expect(countedKey(policy(name, 'policy'), client, '/b')).toBe(key)
      const isSame = name === otherName && client === otherClient
      expect(countedKey(policy(otherName, 'policy'), otherClient, '/a') === key).toBe(isSame)
    }),
  )
})

test('keys of the two scopes never collide', () => {
  fc.assert(
    fc.property(text, text, text, text, (name, client, otherClient, route) => {
      expect(countedKey(policy(name, 'policy'), client, route)).not.toBe(countedKey(policy('x', 'route'), otherClient, route))
    }),
  )
})

test('a client and route keeps its key when another policy becomes responsible', () => {
  expect(countedKey(policy('gold', 'route'), 'ada', '/orders')).toBe(countedKey(policy('default', 'route'), 'ada', '/orders'))
})
