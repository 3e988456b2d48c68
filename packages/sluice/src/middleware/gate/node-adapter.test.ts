import { describe, expect, test } from 'vitest'
import { parseRule } from '../../algorithms/parse-rule.ts'
import { clientAddress } from '../../http/client-address.ts'
import { nodeLimiter } from '../node.ts'
import type { NodeRequest, NodeResponse } from './node-adapter.ts'

/** The key of a request behind one proxy. */
function keyOf(request: Partial<NodeRequest>): string | undefined {
  let key: string | undefined
  const limit = nodeLimiter({
    rules: parseRule('9/minute'),
    headers: false,
    key: (_, { address }) => {
      key = address.key
      return address.key
    },
    address: clientAddress({ trustProxy: 1 }),
  })
  limit({ socket: { remoteAddress: '10.0.0.1' }, headers: {}, ...request }, {} as NodeResponse, (error) => {
    if (error !== undefined) throw error
  })
  return key
}

test('a header is found as it came, in any spelling, and in all its lines', () => {
  const rawHeaders = ['Host', 'localhost', 'x-FORWARDED-for', '203.0.113.8', 'X-Forwarded-For', '203.0.113.9']
  expect(keyOf({ rawHeaders })).toBe('203.0.113.9')
})

test('where there are only headers that somebody has put together, as in functions of a hosting service, those are read', () => {
  const headers = { 'x-forwarded-for': '203.0.113.9' }
  expect(keyOf({ headers })).toBe('203.0.113.9')
  expect(keyOf({ headers, rawHeaders: [] })).toBe('203.0.113.9')
})

test('requests that share a list of raw headers are different requests all the same', () => {
  const rawHeaders = ['Host', 'localhost']
  const limit = nodeLimiter({ rules: parseRule('2/minute'), headers: false })
  let passed = 0
  const response = { setHeader() {}, getHeader() {}, end() {} } as unknown as NodeResponse
  for (let i = 0; i < 5; i++)
    limit({ socket: { remoteAddress: '10.0.0.1' }, headers: {}, rawHeaders }, response, () => (passed += 1))
  expect(passed).toBe(2)
})

describe('what goes wrong once a decision has come late', () => {
  const late = { rules: parseRule('1/minute'), key: () => Promise.resolve('ada') }
  const request = { socket: { remoteAddress: '10.0.0.1' }, headers: {} }

  /** The argument of `next`; `'answered'` if the middleware answers. */
  const outcome = (limit: ReturnType<typeof nodeLimiter>, response: Partial<NodeResponse> = {}) =>
    new Promise((resolve) => {
      const usual = { headersSent: false, setHeader() {}, getHeader() {}, end: () => resolve('answered') }
      limit({ ...request }, { ...usual, ...response } as unknown as NodeResponse, resolve)
    })

  test.each([undefined, null, 'route'])('a callback that fails with %s lets nobody through', async (reason) => {
    const limit = nodeLimiter({ ...late, key: () => Promise.reject(reason) })
    expect(await outcome(limit)).toMatchObject({ cause: reason, message: expect.stringContaining('not with an error') })
  })

  test('an answer that cannot be written is an error for next, and no unhandled rejection', async () => {
    const limit = nodeLimiter(late)
    const end = () => {
      throw new Error('no body')
    }
    expect(await outcome(limit)).toBeUndefined()
    expect(await outcome(limit, { end })).toEqual(new Error('no body'))
  })

  test('a response that somebody else has sent in the meantime is left alone', async () => {
    const limit = nodeLimiter(late)
    const refuse = () => {
      throw new Error('headers are sent')
    }
    const sent = { headersSent: true, setHeader: refuse, end: refuse }
    expect(await outcome(limit, sent)).toBeUndefined()
    const denied = outcome(limit, sent)
    expect(await Promise.race([denied, new Promise((resolve) => setTimeout(resolve, 20, 'nothing'))])).toBe('nothing')
  })
})
