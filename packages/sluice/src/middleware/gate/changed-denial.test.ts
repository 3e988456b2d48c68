import { describe, expect, test } from 'vitest'
import { limitedHandler } from '../../../test/middleware/limited-handler.ts'
import { parseRule } from '../../algorithms/parse-rule.ts'
import { changedDenial } from './changed-denial.ts'

const DENIAL = { status: 429, headers: { 'Retry-After': '60', 'Content-Type': 'application/problem+json' }, body: '{}' }

const headersWith = (headers: Record<string, unknown>, status = 429) =>
  changedDenial('fetchLimiter', DENIAL, { status, headers: headers as Record<string, string> }).headers

describe('headers of onDenied', () => {
  test.each([
    ['are added', { 'X-Why': 'quota' }, { ...DENIAL.headers, 'X-Why': 'quota' }],
    ['replace those of the denial', { 'Retry-After': '5' }, { ...DENIAL.headers, 'Retry-After': '5' }],
    ['replace them in any case', { 'retry-after': '5' }, { 'retry-after': '5', 'Content-Type': 'application/problem+json' }],
    ['are removed if they are undefined', { 'Retry-After': undefined }, { 'Content-Type': 'application/problem+json' }],
    ['are removed in any case', { 'content-type': undefined }, { 'Retry-After': '60' }],
    ['may be undefined if the denial has none of that name', { 'X-Why': undefined }, DENIAL.headers],
    ['may be empty', { 'X-Why': '' }, { ...DENIAL.headers, 'X-Why': '' }],
  ])('%s', (_, headers, expected) => {
    expect(headersWith(headers)).toEqual(expected)
  })

  test('without a body there is no type of it', () => {
    expect(headersWith({ 'content-type': 'text/plain' }, 204)).toEqual({ 'Retry-After': '60' })
  })

  test.each([[5], [null], [true], [['a', 'b']], [{}], [() => 'x']])('%s instead of a string is refused', (value) => {
    expect(() => headersWith({ 'X-Why': value })).toThrow(
      expect.objectContaining({
        code: 'ERR_OPTION',
        option: 'onDenied',
        message: expect.stringMatching(/^onDenied of fetchLimiter needs the header "X-Why" to be a string or undefined, got/),
      }),
    )
  })
})

test('a fetch handler does not send a removed field', async () => {
  const { ask } = limitedHandler({ rules: parseRule('1/minute'), onDenied: () => ({ headers: { 'Retry-After': undefined } }) })
  await ask()
  const { status, headers } = await ask()
  expect([status, headers.get('Retry-After'), headers.get('Content-Type')]).toEqual([429, null, 'application/problem+json'])
})
