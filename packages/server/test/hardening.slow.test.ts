// Hostile requests over real sockets: slow, large, malformed, deeply nested, endless, with wrong keys.

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

/** Sends text on a new socket. Returns the response until the service closes the socket, and the time that this took. */
async function send(address: string, text: string | Buffer): Promise<{ answer: string; tookMs: number }> {
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
  test('one with a Content-Length that is too large is refused before it is sent', async () => {
    const { address, key } = await startService()
    const { answer } = await send(address, post('', [`Api-Key: ${key}`, 'Content-Length: 1000000']))
    expect(answer).toContain('413 Payload Too Large')
    expect(answer).toContain('"error":"ERR_TOO_LARGE"')
  })

  test('one that becomes too large is refused while it is sent', async () => {
    const { address, key } = await startService()
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
    const { answer } = await send(address, post(chunk.repeat(3), [`Api-Key: ${key}`, 'Transfer-Encoding: chunked']))
    expect(answer).toContain('413 Payload Too Large')
  })

  test('one that is nested too deeply is refused quickly, by the check door and by the routes', async () => {
    const { call } = await startService()
    const deep = `${'[{"a":'.repeat(2000)}1${'}]'.repeat(2000)}`
    for (const path of ['/v1/check', '/v1/chec%6B', '/v1/check/batch']) {
      const startMs = performance.now()
      const { status, body } = await call('POST', path, deep)
      expect([status, body.meta.message]).toEqual([400, 'the body is nested deeper than 8 levels'])
      expect(performance.now() - startMs).toBeLessThan(1000)
    }
  })

  test('one with invalid UTF-8 or a lone surrogate is refused, since different ids would be counted as one', async () => {
    const { address, adminAddress, key } = await startService()
    const bodies = [
      Buffer.concat([Buffer.from('{"client_id":"a'), Buffer.from([0xff]), Buffer.from('","route":"/a"}')]),
      Buffer.concat([Buffer.from('{"client_id":"a'), Buffer.from([0xc3]), Buffer.from('","route":"/a"}')]),
      Buffer.from('{"client_id":"a\\ud800","route":"/a"}'),
      Buffer.from('{"client_id":"a","route":"/\\uDFFF"}'),
    ]
    const headers = { 'api-key': key, 'content-type': 'application/json' }
    for (const body of bodies) {
      for (const path of ['/v1/check', '/v1/chec%6B', '/v1/reset']) {
        const response = await fetch(`${path === '/v1/reset' ? adminAddress : address}${path}`, { method: 'POST', headers, body })
        expect([path, response.status]).toEqual([path, 400])
        expect(((await response.json()) as { meta: object }).meta).toMatchObject({ error: 'ERR_INPUT' })
      }
    }
    const whole = '{"client_id":"\\ud83d\\ude00 \\\\ud800","route":"/ä"}'
    expect((await fetch(`${address}/v1/check`, { method: 'POST', headers, body: whole })).status).toBe(200)
  })

  test('a request without a key is refused before its body is read', async () => {
    const { address } = await startService()
    const { answer } = await send(address, post('', ['Content-Length: 10000']))
    expect(answer).toContain('401 Unauthorized')
  })
})

describe('HTTP itself', () => {
  test('input that is not HTTP is answered 400 in the envelope, and the connection is closed', async () => {
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

  test('a path that cannot be decoded, or that is unknown, is answered in the envelope', async () => {
    const { call } = await startService()
    expect((await call('GET', '/v1/policies/%ff')).body.meta).toMatchObject({ code: 400, error: 'ERR_INPUT' })
    expect((await call('GET', '/nope')).body.meta).toMatchObject({ code: 404, error: 'ERR_NOT_FOUND' })
  })

  test('a path with another method is answered 405, with the allowed methods', async () => {
    const { call } = await startService()
    const cases = [
      ['PATCH', '/v1/check', 'POST'],
      ['GET', '/v1/check', 'POST'],
      ['POST', '/v1/policies/orders', 'DELETE, GET, HEAD, PUT'],
      ['PUT', '/v1/keys/abc?x=1', 'DELETE'],
      ['GET', '/v1/keys/abc/rotate', 'POST'],
      ['DELETE', '/livez', 'GET, HEAD'],
      ['OPTIONS', '/v1/authorize', 'GET, HEAD'],
      ['QUERY', '/v1/usage', 'GET, HEAD'],
    ]
    for (const [method, path, allow] of cases) {
      const { status, headers, body } = await call(method, path)
      expect([method, path, status, headers.get('allow')]).toEqual([method, path, 405, allow])
      expect(body.meta).toMatchObject({ code: 405, error: 'ERR_METHOD', status: 'error' })
    }
    for (const path of ['/v1/policies/', '/v1/keys/a/b', '/v1/keys//rotate', '/v1', '/__proto__', '/v1/%zz']) {
      expect([path, [400, 404].includes((await call('POST', path)).status)]).toEqual([path, true])
    }
  })

  test('any number of headers is read, by the check door and by the routes', async () => {
    const { address, key, call } = await startService()
    const filler = Array.from({ length: 1000 }, (_, i) => `X-${i}: 1`)
    const body = '{"client_id":"a","route":"/a"}'
    const late = [...filler, `Content-Length: ${body.length}`, `Api-Key: ${key}`]
    expect((await send(address, post(body, late))).answer).toContain('200 OK')
    expect((await send(address, post(body, late).replace('/v1/check', '/v1/chec%6B'))).answer).toContain('200 OK')
    const { etag } = (await call('PUT', '/v1/policies/orders', { route: '/orders', rules: '1/hour' })).body.data
    await call('PUT', '/v1/policies/orders', { route: '/orders', rules: '2/hour' })
    const policy = '{"route":"/orders","rules":"3/hour"}'
    const stale = [...filler, `Content-Length: ${policy.length}`, `Api-Key: ${key}`, `If-Match: ${etag}`]
    const put = post(policy, stale).replace('POST /v1/check', 'PUT /v1/policies/orders')
    expect((await send(address, put)).answer).toContain('412 Precondition Failed')
    expect((await call('GET', '/v1/policies/orders')).body.data.rules).toEqual(['2/hour'])
  })

  test('a number in a query must be written in digits', async () => {
    const { call } = await startService()
    for (const limit of [
      'true',
      '1.0',
      '1e1',
      '0x1',
      '',
      ' 1',
      '1&limit=2',
      '99999999999999999999',
      '-1',
      '0',
      '01',
      '-0',
      '+1',
    ]) {
      expect([limit, (await call('GET', `/v1/audit?limit=${encodeURI(limit)}`)).status]).toEqual([limit, 400])
    }
    expect((await call('GET', '/v1/audit?limit=1')).body.data.entries).toHaveLength(1)
    expect((await call('GET', '/v1/authorize?deny_status=true')).status).toBe(400)
    expect((await call('GET', '/v1/usage?client_id=ada&route=/a&cost=01')).status).toBe(400)
    expect((await call('GET', '/v1/usage?client_id=ada&route=/a&cost=10')).status).toBe(200)
  })

  test('a query that is not UTF-8 is refused, since different ids would be counted as one', async () => {
    const { address, call, key } = await startService()
    const ask = async (path: string) => {
      const head = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\nApi-Key: ${key}\r\nConnection: close\r\n\r\n`, 'latin1')
      return (await send(address, head)).answer
    }
    for (const id of ['%ff', 'a%ed%a0%80', '%', 'a%2', '%zz', '%c3', '%c3&x=%a9', 'caf\xe9', 'caf\xc3\xa9']) {
      for (const path of [
        `/v1/authorize?route=/a&client=${id}`,
        `/v1/usage?route=/a&client_id=${id}`,
        `/v1/stats?policy=${id}`,
      ]) {
        const answer = await ask(path)
        expect([path, answer.slice(9, 12), /ERR_INPUT|this is not HTTP/.test(answer)]).toEqual([path, '400', true])
      }
    }
    expect((await call('GET', '/v1/authorize?route=/a&client=caf%C3%A9+%F0%9F%98%80%25')).status).toBe(200)
    expect((await call('GET', `/v1/usage?route=/a&client_id=${encodeURIComponent('café 😀%')}`)).body.data.rules[0].used).toBe(1)
  })

  test('slow headers and a slow body are cut off in time, while other requests are served', async () => {
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

  test('failures are limited by address; a valid key still passes; the limit recovers with time', async () => {
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

  test('addresses behind a trusted proxy are limited separately', async () => {
    const { call } = await startService({ flags: { trustedProxies: '127.0.0.1' } })
    const guess = async (from: string) =>
      (await call('GET', '/v1/keys', undefined, { 'api-key': 'guess', 'x-forwarded-for': from })).status
    for (let i = 0; i < 21; i++) await guess('203.0.113.1')
    expect(await guess('203.0.113.1')).toBe(429)
    expect(await guess('203.0.113.2')).toBe(401)
  })
})

describe('without required keys', () => {
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

  test.each([
    [{ 'Sec-Fetch-Site': 'cross-site' }, false],
    [{ 'Sec-Fetch-Site': 'same-site' }, false],
    [{ Origin: 'https://elsewhere.example' }, false],
    [{ Origin: 'null' }, false],
    [{ 'Sec-Fetch-Site': 'same-origin' }, true],
    [{ 'Sec-Fetch-Site': 'none' }, true],
    [{ Origin: 'http://127.0.0.1:8080' }, true],
    [{}, true],
  ])('a page of another site cannot spend or read: %j, passes: %s', async (headers, passes) => {
    const { address, call } = await startService({ flags: { keysRequired: 'false' } })
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    const get = (path: string, more: string[] = []) =>
      send(address, [`GET ${path} HTTP/1.1`, 'Host: 127.0.0.1:8080', 'Connection: close', ...lines, ...more, '', ''].join('\r\n'))
    const expected = passes ? '200 OK' : '403 Forbidden'
    expect((await get('/v1/authorize?client=ada&route=/a')).answer).toContain(expected)
    expect((await get('/v1/stats')).answer).toContain(expected)
    const body = '{"client_id":"ada","route":"/a"}'
    const check = post(body, [`Content-Length: ${body.length}`, ...lines]).replace('Host: x', 'Host: 127.0.0.1:8080')
    expect((await send(address, check)).answer).toContain(expected)
    const used = (await call('GET', '/v1/usage?client_id=ada&route=/a')).body.data.rules[0].used
    expect(used).toBe(passes ? 2 : 0)
    // A proxy that passes on its client's headers also sends the path, which a page cannot do.
    const asked = ['X-Forwarded-For: 203.0.113.7', 'X-Forwarded-Uri: /a']
    expect((await get('/v1/authorize', asked)).answer).toContain('200 OK')
  })

  test('with insecureAllowUnauthenticated any host name is accepted', async () => {
    const { address } = await startService({ flags: { keysRequired: 'false', insecureAllowUnauthenticated: 'true' } })
    expect(await hostOf(address, 'sluice.internal')).toBe('200')
  })
})
