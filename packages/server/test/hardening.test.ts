// What strangers may send: slow, large, malformed, deep, endless, with wrong keys. Over real sockets.

import { connect, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { advance, startService } from './running-service.ts'

function open(address: string): Socket {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  return socket
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve())
  })
}

/** Sends text on a socket of its own; → all that comes back until the service closes it, and how long that took. */
async function send(address: string, text: string): Promise<{ answer: string; tookMs: number }> {
  const startMs = performance.now()
  const socket = open(address)
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  socket.write(text)
  await closed(socket)
  return { answer, tookMs: performance.now() - startMs }
}

const post = (body: string, headers: string[] = []) =>
  ['POST /v1/check HTTP/1.1', 'Host: x', 'Content-Type: application/json', 'Connection: close', ...headers, '', body].join('\r\n')

describe('bodies', () => {
  test('one that says it is too large is refused before it is sent', async () => {
    const { address, key } = await startService()
    const { answer } = await send(address, post('', [`Api-Key: ${key}`, 'Content-Length: 1000000']))
    expect(answer).toContain('413 Payload Too Large')
    expect(answer).toContain('"error":"ERR_TOO_LARGE"')
  })

  test('one that turns out too large is refused on the way', async () => {
    const { address, key } = await startService()
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
    const { answer } = await send(address, post(chunk.repeat(3), [`Api-Key: ${key}`, 'Transfer-Encoding: chunked']))
    expect(answer).toContain('413 Payload Too Large')
  })

  test('one that is deep is refused quickly, in the door and in the routes', async () => {
    const { call } = await startService()
    const deep = `${'[{"a":'.repeat(2000)}1${'}]'.repeat(2000)}`
    for (const path of ['/v1/check', '/v1/chec%6B', '/v1/check/batch']) {
      const startMs = performance.now()
      const { status, body } = await call('POST', path, deep)
      expect([status, body.meta.message]).toEqual([400, 'the body is nested deeper than 8 levels'])
      expect(performance.now() - startMs).toBeLessThan(1000)
    }
  })

  test('a request without a key is refused before its body is read', async () => {
    const { address } = await startService()
    const { answer } = await send(address, post('', ['Content-Length: 10000']))
    expect(answer).toContain('401 Unauthorized')
  })
})

describe('HTTP itself', () => {
  test('what is not HTTP is answered 400 in the envelope, and the connection is closed', async () => {
    const { address } = await startService()
    for (const text of [
      'hello\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00',
      'GET /livez HTTP/1.1\r\nbad header\r\n\r\n',
    ]) {
      const { answer } = await send(address, text)
      expect(answer).toContain('HTTP/1.1 400 Bad Request')
      expect(answer).toContain('"status":"error"')
    }
  })

  test('two lengths, or a length and chunks, are refused', async () => {
    const { address, key } = await startService()
    const smuggled = [`Api-Key: ${key}`, 'Content-Length: 5', 'Transfer-Encoding: chunked']
    expect((await send(address, post('0\r\n\r\n', smuggled))).answer).toContain('400 Bad Request')
  })

  test('headers that are too large are answered 431', async () => {
    const { address } = await startService()
    const { answer } = await send(address, `GET /livez HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`)
    expect(answer).toContain('431 Request Header Fields Too Large')
    expect(answer).toContain('ERR_HEADERS_TOO_LARGE')
  })

  test('a path that cannot be decoded, or that nobody has, is answered in the envelope', async () => {
    const { call } = await startService()
    expect((await call('GET', '/v1/policies/%ff')).body.meta).toMatchObject({ code: 400, error: 'ERR_INPUT' })
    expect((await call('GET', '/nope')).body.meta).toMatchObject({ code: 404, error: 'ERR_NOT_FOUND' })
    expect((await call('PATCH', '/v1/check', {})).body.meta).toMatchObject({ code: 404 })
  })

  test('slow headers and a slow body are cut off in time, while others are served', async () => {
    const { address, call, key } = await startService()
    const slow = Array.from({ length: 200 }, () => open(address))
    const dribble = setInterval(() => {
      for (const socket of slow) if (socket.writable) socket.write('X')
    }, 500)
    for (const socket of slow) socket.write('GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    const slowBody = send(address, post('{"client_id":', [`Api-Key: ${key}`, 'Content-Length: 100']))
    const silent = send(address, '')
    const allClosed = Promise.all(slow.map(closed))
    for (let i = 0; i < 20; i++) expect((await call('POST', '/v1/check', { client_id: 'ada', route: '/a' })).status).toBe(200)
    const startMs = performance.now()
    await allClosed
    expect(performance.now() - startMs).toBeLessThan(8000)
    clearInterval(dribble)
    expect((await silent).tookMs).toBeLessThan(12_000)
    const { answer, tookMs } = await slowBody
    expect(answer).toContain('408 Request Timeout')
    expect(answer).toContain('ERR_TOO_SLOW')
    expect(tookMs).toBeLessThan(13_000)
  })
})

describe('keys', () => {
  test('missing, malformed, unknown and half-right ones are refused alike', async () => {
    const { call, key } = await startService()
    const other = key.replace(/_[^_]+_[^_]+$/, `_${'A'.repeat(43)}_AAAAAA`)
    for (const presented of ['', 'x', 'sluice_', key.slice(0, -1), `${key}x`, key.toUpperCase(), other, '__proto__']) {
      const { status, body, headers } = await call('GET', '/v1/keys', undefined, { 'api-key': presented })
      expect(status).toBe(401)
      const message = expect.stringContaining(presented === '' ? 'an API key is missing' : 'the API key is not known')
      expect(body).toMatchObject({ meta: { code: 401, error: 'ERR_UNAUTHENTICATED', message }, data: null })
      expect(headers.get('www-authenticate')).toBe('Bearer')
    }
    const bearer = await call('GET', '/v1/keys', undefined, { 'api-key': '', authorization: `Bearer ${key}` })
    expect(bearer.status).toBe(200)
  })

  test('a key as Authorization: Bearer works as well', async () => {
    const { adminAddress, key } = await startService()
    const response = await fetch(`${adminAddress}/v1/keys`, { headers: { authorization: `bearer ${key}` } })
    expect(response.status).toBe(200)
  })

  test('failures are limited by address; a valid key still gets in; time forgives', async () => {
    const { call } = await startService()
    const guess = async () => call('POST', '/v1/check', { client_id: 'a', route: '/a' }, { 'api-key': 'guess' })
    for (let i = 0; i < 20; i++) expect((await guess()).status).toBe(401)
    const limited = await guess()
    expect(limited.status).toBe(429)
    expect(limited.body.meta.error).toBe('ERR_AUTH_LIMITED')
    expect(limited.headers.get('retry-after')).toBe('3')
    expect((await call('POST', '/v1/check', { client_id: 'a', route: '/a' })).status).toBe(200)
    advance(3000)
    expect((await guess()).status).toBe(401)
  })

  test('a flood of addresses behind a trusted proxy is told apart', async () => {
    const { call } = await startService({ flags: { trustedProxies: '127.0.0.1' } })
    const guess = async (from: string) =>
      (await call('GET', '/v1/keys', undefined, { 'api-key': 'guess', 'x-forwarded-for': from })).status
    for (let i = 0; i < 21; i++) await guess('203.0.113.1')
    expect(await guess('203.0.113.1')).toBe(429)
    expect(await guess('203.0.113.2')).toBe(401)
  })
})

describe('where no key is required', () => {
  const hostOf = async (address: string, host: string) => {
    const { answer } = await send(address, `GET /v1/stats HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    return answer.split(' ')[1]
  }

  test.each(['127.0.0.1:8080', 'localhost', 'LOCALHOST:1', 'sluice.localhost:8080', '[::1]:8080', '10.0.0.7'])(
    'it may be called %s',
    async (host) => {
      const { address } = await startService({ flags: { keysRequired: 'false' } })
      expect(await hostOf(address, host)).toBe('200')
    },
  )

  test.each(['rebound.example', 'rebound.example:8080', '127.0.0.1.rebound.example', 'localhost.rebound.example', 'localhost.'])(
    'a name that another site can have, %s, is refused',
    async (host) => {
      const { address } = await startService({ flags: { keysRequired: 'false' } })
      expect(await hostOf(address, host)).toBe('403')
      const body = '{"client_id":"a","route":"/a"}'
      const check = post(body, [`Content-Length: ${body.length}`]).replace('Host: x', `Host: ${host}`)
      expect((await send(address, check)).answer).toContain('403 Forbidden')
    },
  )

  test('with leave to be reached by anybody it goes by any name', async () => {
    const { address } = await startService({ flags: { keysRequired: 'false', insecureAllowUnauthenticated: 'true' } })
    expect(await hostOf(address, 'sluice.internal')).toBe('200')
  })
})
