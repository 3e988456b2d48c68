import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { forwardedRoute, plainPath } from './forwarded-request.ts'

describe('a path has one spelling', () => {
  test.each([
    ['/api/orders', '/api/orders'],
    ['/api/orders?page=2', '/api/orders'],
    ['/api/orders#top', '/api/orders'],
    ['/api//orders', '/api/orders'],
    ['//api/orders', '/api/orders'],
    ['/api/./orders', '/api/orders'],
    ['/api/x/../orders', '/api/orders'],
    ['/api/x/%2e%2E/orders', '/api/orders'],
    ['/api/%6frders', '/api/orders'],
    ['/api/a%2fb', '/api/a%2Fb'],
    ['/api/a b', '/api/a%20b'],
    ['/caf\u00c3\u00a9', '/caf%C3%A9'],
    ['https://example.com/api/orders?x', '/api/orders'],
    ['https://example.com', '/'],
    ['', '/'],
    ['api/orders', '/api/orders'],
    ['/../../etc', '/etc'],
  ])('%s', (uri, path) => {
    expect(plainPath(uri)).toBe(path)
  })
})

test('whatever comes, a path comes out, and putting it in again changes nothing', () => {
  fc.assert(
    fc.property(fc.string(), (uri) => {
      const path = plainPath(uri)
      expect(path.startsWith('/')).toBe(true)
      expect(plainPath(path)).toBe(path)
    }),
  )
})

test('the method and the host stand before the path if they are asked for', () => {
  const headers = { 'x-forwarded-uri': '/a?b', 'x-forwarded-method': 'post', 'x-forwarded-host': 'Example.com' }
  expect(forwardedRoute(headers, [])).toBe('/a')
  expect(forwardedRoute(headers, ['method'])).toBe('POST /a')
  expect(forwardedRoute(headers, ['method', 'host'])).toBe('POST example.com/a')
  expect(forwardedRoute({ 'x-original-uri': '/nginx' }, [])).toBe('/nginx')
})

test('a proxy that does not tell the path is heard as such', () => {
  expect(forwardedRoute({ 'x-forwarded-for': '192.0.2.1' }, [])).toBeUndefined()
})

test('a route is no longer than a route may be', () => {
  expect(forwardedRoute({ 'x-forwarded-uri': `/${'a'.repeat(5000)}` }, [])).toHaveLength(2048)
})
