import { expect, test } from 'vitest'
import { forwardedRoute, type RouteForm } from './forwarded-request.ts'

const form = (prefixes: RouteForm['prefixes'] = [], fold: RouteForm['fold'] = []): RouteForm => ({ prefixes, fold })

test('the method and the host precede the path if requested', () => {
  const headers = { 'x-forwarded-uri': '/a?b', 'x-forwarded-method': 'post', 'x-forwarded-host': 'Example.com' }
  expect(forwardedRoute(headers, form())).toBe('/a')
  expect(forwardedRoute(headers, form(['method']))).toBe('POST /a')
  expect(forwardedRoute(headers, form(['method', 'host']))).toBe('POST example.com/a')
  expect(forwardedRoute({ 'x-original-uri': '/nginx' }, form())).toBe('/nginx')
})

test('returns undefined if the proxy does not send the path', () => {
  expect(forwardedRoute({ 'x-forwarded-for': '192.0.2.1' }, form())).toBeUndefined()
})

test('a route is cut at the maximum length', () => {
  expect(forwardedRoute({ 'x-forwarded-uri': `/${'a'.repeat(5000)}` }, form())).toHaveLength(2048)
})

test('only the requested differences in spelling are ignored, and only in the path', () => {
  const headers = { 'x-forwarded-uri': '/A;b//%63/', 'x-forwarded-method': 'get' }
  expect(forwardedRoute(headers, form(['method']))).toBe('GET /A;b/c/')
  expect(forwardedRoute(headers, form(['method'], ['case', 'parameters', 'trailing-slash']))).toBe('GET /a/c')
})
