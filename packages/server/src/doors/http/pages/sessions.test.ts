import type { IncomingMessage } from 'node:http'
import { fakeClock } from 'sluice/testing'
import { expect, test } from 'vitest'
import type { ApiKey } from '../../../keys/key-ring.ts'
import { MOST_SESSIONS, SESSIONS_A_KEY, Sessions } from './sessions.ts'

const ADA: ApiKey = { id: 'ada', name: 'ada', scopes: ['read'], createdAt: 0 }

function setUp({ trustedProxies = [] as string[] } = {}) {
  const clock = fakeClock()
  const keys = new Map<string, ApiKey>([['ada', ADA]])
  const sessions = new Sessions({ keys, trustedProxies, now: clock.now })
  return { clock, keys, sessions }
}

function request(
  headers: Record<string, string> = {},
  { method = 'GET', peer = '192.0.2.1', encrypted = false } = {},
): IncomingMessage {
  return { method, headers, socket: { remoteAddress: peer, encrypted } } as unknown as IncomingMessage
}

/** The cookie as a browser sends it. */
const sentBack = (header: string) => header.split(';')[0]

test('a session stands for the key that it was started with', () => {
  const { sessions } = setUp()
  const cookie = sentBack(sessions.start(request(), ADA))
  expect(sessions.keyOf(request({ cookie }))).toBe(ADA)
  expect(sessions.keyOf(request({ cookie: `theme=dark; ${cookie}; more=1` }))).toBe(ADA)
  expect(sessions.keyOf(request())).toBeUndefined()
  expect(sessions.keyOf(request({ cookie: 'sluice_session=guessed' }))).toBeUndefined()
  expect(sessions.keyOf(request({ cookie: `${cookie}x` }))).toBeUndefined()
})

test('its cookie cannot be read by scripts nor sent by other sites, and over TLS needs TLS', () => {
  const { sessions } = setUp({ trustedProxies: ['10.0.0.0/8'] })
  expect(sessions.start(request(), ADA)).toMatch(/^sluice_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
  const overTls = /^__Host-sluice_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/
  expect(sessions.start(request({}, { encrypted: true }), ADA)).toMatch(overTls)
  const forwarded = { 'x-forwarded-proto': 'https' }
  expect(sessions.start(request(forwarded, { peer: '10.1.2.3' }), ADA)).toMatch(overTls)
  expect(sessions.start(request(forwarded), ADA)).not.toMatch(/Secure/)
})

test('a session ends after half an hour without use, and after twelve hours with it', () => {
  const { sessions, clock } = setUp()
  const idle = sentBack(sessions.start(request(), ADA))
  clock.advance(30 * 60_000)
  expect(sessions.keyOf(request({ cookie: idle }))).toBe(ADA)
  clock.advance(30 * 60_000 + 1)
  expect(sessions.keyOf(request({ cookie: idle }))).toBeUndefined()
  clock.advance(-1)
  expect(sessions.keyOf(request({ cookie: idle }))).toBeUndefined()

  const busy = sentBack(sessions.start(request(), ADA))
  for (let minutes = 0; minutes < 720; minutes += 20) {
    clock.advance(20 * 60_000)
    expect(sessions.keyOf(request({ cookie: busy }))).toBe(ADA)
  }
  clock.advance(1)
  expect(sessions.keyOf(request({ cookie: busy }))).toBeUndefined()
})

test('a session ends with its key, and when it is ended', () => {
  const { sessions, keys, clock } = setUp()
  const first = sentBack(sessions.start(request(), ADA))
  keys.set('ada', { ...ADA, revokedAt: clock.now() })
  expect(sessions.keyOf(request({ cookie: first }))).toBeUndefined()
  keys.set('ada', { ...ADA, expiresAt: clock.now() + 1000 })
  const second = sentBack(sessions.start(request(), ADA))
  expect(sessions.keyOf(request({ cookie: second }))?.id).toBe('ada')
  clock.advance(1000)
  expect(sessions.keyOf(request({ cookie: second }))).toBeUndefined()
  keys.set('ada', ADA)
  const third = sentBack(sessions.start(request(), ADA))
  expect(sessions.end(request({ cookie: third }))).toMatch(/^sluice_session=; .*Max-Age=0$/)
  expect(sessions.keyOf(request({ cookie: third }))).toBeUndefined()
})

test('a key has a maximum of sessions: its own least recently used one is removed, never one of another key', () => {
  const { sessions, keys } = setUp()
  const bob = { ...ADA, id: 'bob' }
  keys.set('bob', bob)
  const other = sentBack(sessions.start(request(), bob))
  const [first, second] = [sessions.start(request(), ADA), sessions.start(request(), ADA)].map(sentBack)
  expect(sessions.keyOf(request({ cookie: first }))).toBe(ADA)
  for (let i = 0; i < SESSIONS_A_KEY - 1; i++) sessions.start(request(), ADA)
  expect(sessions.keyOf(request({ cookie: second }))).toBeUndefined()
  expect(sessions.keyOf(request({ cookie: first }))).toBe(ADA)
  for (let i = 0; i < MOST_SESSIONS + 1; i++) sessions.start(request(), ADA)
  expect(sessions.keyOf(request({ cookie: first }))).toBeUndefined()
  expect(sessions.keyOf(request({ cookie: other }))).toBe(bob)
})

test('at the maximum of all sessions, a key without sessions gets none until some have ended', () => {
  const { sessions, keys, clock } = setUp()
  const cookies: string[] = []
  for (let i = 0; i < MOST_SESSIONS / SESSIONS_A_KEY; i++) {
    const key = { ...ADA, id: `k${i}` }
    keys.set(key.id, key)
    for (let n = 0; n < SESSIONS_A_KEY; n++) cookies.push(sentBack(sessions.start(request(), key)))
  }
  expect(() => sessions.start(request(), ADA)).toThrow(/sessions of other keys are open/)
  expect(cookies.filter((cookie) => !sessions.isValid(request({ cookie })))).toEqual([])
  sessions.start(request(), keys.get('k7') as ApiKey)
  clock.advance(30 * 60_000 + 1)
  expect(sessions.start(request(), ADA)).toContain('sluice_session=')
})

test('signing in again ends the previous session of the browser', () => {
  const { sessions } = setUp()
  const cookie = sentBack(sessions.start(request(), ADA))
  const again = sentBack(sessions.start(request({ cookie }), ADA))
  expect([sessions.isValid(request({ cookie })), sessions.isValid(request({ cookie: again }))]).toEqual([false, true])
})

test('checking a session does not count as use', () => {
  const { sessions, clock } = setUp()
  const cookie = sentBack(sessions.start(request(), ADA))
  for (let minutes = 0; minutes < 30; minutes++) {
    clock.advance(60_000)
    expect(sessions.isValid(request({ cookie }))).toBe(true)
  }
  clock.advance(1)
  expect(sessions.isValid(request({ cookie }))).toBe(false)
})

const host = 'sluice.example:8080'
test.each([
  ['GET', { 'sec-fetch-site': 'same-origin' }, true],
  ['POST', { 'sec-fetch-site': 'same-origin', origin: 'null' }, true],
  ['GET', { 'sec-fetch-site': 'none' }, true],
  ['POST', { 'sec-fetch-site': 'none' }, false],
  ['GET', { 'sec-fetch-site': 'same-site' }, false],
  ['POST', { 'sec-fetch-site': 'cross-site' }, false],
  ['POST', { origin: `http://${host}` }, true],
  ['POST', { origin: 'https://elsewhere.example' }, false],
  ['DELETE', { origin: `http://${host}.elsewhere.example` }, false],
  ['POST', { origin: 'null' }, false],
  ['GET', {}, true],
  ['POST', {}, false],
  ['PUT', {}, false],
] as const)('%s with %o is of the same site: %s', (method, headers, isAllowed) => {
  const { sessions } = setUp()
  const cookie = sentBack(sessions.start(request(), ADA))
  const ask = () => sessions.keyOf(request({ cookie, host, ...headers }, { method }))
  if (isAllowed) expect(ask()).toBe(ADA)
  else expect(ask).toThrow(/another site/)
})
