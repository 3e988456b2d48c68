import { expect, test } from 'vitest'
import { quickName } from './field-names.ts'

test.each([
  ['RateLimit', 'ratelimit'],
  ['RateLimit-Policy', 'ratelimit-policy'],
  ['Retry-After', 'Retry-After'],
  ['constructor', 'constructor'],
  ['__proto__', '__proto__'],
])('%s is written as %s', (name, expected) => {
  expect(quickName(name)).toBe(expected)
})
