// Pipelined requests on one connection: each counted request is answered.

import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { certificate } from './certificate.ts'
import { startService, type TestService } from './running-service.ts'

const BODY = JSON.stringify({ client_id: 'ada', route: '/a' })

function check(key: string, ...headers: string[]): string {
  const head = ['Host: x', `Api-Key: ${key}`, 'Content-Type: application/json', `Content-Length: ${BODY.length}`, ...headers]
  return `POST /v1/check HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${BODY}`
}

/** Sends each part in its own packet, and reads until the service closes the connection. Returns the status of each answer. */
function statusesOf({ address }: TestService, ...parts: string[]): Promise<string[]> {
  const { hostname, port } = new URL(address)
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(Number(port), hostname, async () => {
      socket.setNoDelay(true)
      for (const part of parts) {
        socket.write(part)
        await new Promise(setImmediate)
      }
    })
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(text.match(/(?<=HTTP\/1\.1 )\d+/g) ?? []))
  })
}

async function used({ call }: TestService): Promise<number> {
  return (await call('GET', '/v1/usage?client_id=ada&route=/a')).body.data.rules[0].used
}

test('during the drain, no request after an answer with Connection: close is counted', async () => {
  const service = await startService({ flags: { drainDelay: '3s' } })
  const stopped = service.close()
  expect(await statusesOf(service, check(service.key).repeat(5))).toEqual(['200'])
  expect(await used(service)).toBe(1)
  const authorize = `GET /v1/authorize?client=ada&route=/a HTTP/1.1\r\nHost: x\r\nApi-Key: ${service.key}\r\n\r\n`
  expect(await statusesOf(service, authorize.repeat(5))).toEqual(['200'])
  expect(await used(service)).toBe(2)
  await stopped
})

test('no request after one with Connection: close is counted, and that one is answered', async () => {
  const service = await startService()
  const { key } = service
  const last = check(key, 'Connection: close')
  expect(await statusesOf(service, check(key) + last + check(key).repeat(3))).toEqual(['200', '200'])
  expect(await used(service)).toBe(2)
  expect(await statusesOf(service, last, check(key))).toEqual(['200'])
  expect(await used(service)).toBe(3)
})

test('requests before input that is not HTTP are answered before it is refused', async () => {
  const service = await startService()
  const { key } = service
  expect(await statusesOf(service, `${check(key).repeat(3)}nonsense\r\n\r\n`, 'more', 'and more')).toEqual([
    '200',
    '200',
    '200',
    '400',
  ])
  expect(await used(service)).toBe(3)
  const broken = check(key)
    .replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked')
    .replace(BODY, 'zz\r\n')
  expect(await statusesOf(service, check(key) + broken)).toEqual(['200', '400'])
  expect(await used(service)).toBe(4)
})

test('a stop does not wait for answers on a closed connection', async () => {
  const service = await startService()
  const { hostname, port } = new URL(service.address)
  const socket = connect(Number(port), hostname)
  // The stream never ends, so the queued answer behind it is never sent.
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nApi-Key: ${service.key}\r\n\r\n`
  socket.write(get('/v1/events') + get('/livez'))
  await once(socket, 'data')
  socket.destroy()
  const startMs = performance.now()
  await service.close()
  // Open requests may take ten seconds.
  expect(performance.now() - startMs).toBeLessThan(8000)
})

test('a stop does not wait for a TLS handshake that a client has begun, left or refused', async () => {
  const { cert, key: tlsKey } = certificate()
  const service = await startService({ flags: { tlsCert: cert, tlsKey } })
  const { hostname: host, port: at } = new URL(service.address)
  const port = Number(at)
  const silent = connect(port, host)
  await once(silent, 'connect')
  connect(port, host).end('\x16\x03\x01').resume()
  const refusing = connectTls({ host, port })
  await expect(once(refusing, 'secureConnect')).rejects.toThrow('self-signed')
  const startMs = performance.now()
  await service.close()
  // A handshake may take ten seconds.
  expect(performance.now() - startMs).toBeLessThan(8000)
  silent.destroy()
})

describe.each(['HTTP', 'HTTPS'])(
  'requests of a client that ends its side together with them are all answered over %s',
  (scheme) => {
    test.each(['good', 'odd', 'good, odd, good', 'odd, good, odd', 'good, good, odd, good, good'])('%s', async (kinds) => {
      const { cert, key: tlsKey } = certificate()
      const { address, key } = await startService({ flags: scheme === 'HTTPS' ? { tlsCert: cert, tlsKey } : {} })
      const { hostname: host, port: at } = new URL(address)
      const port = Number(at)
      const socket = scheme === 'HTTPS' ? connectTls({ host, port, rejectUnauthorized: false }) : connect(port, host)
      const requests = kinds.split(', ').map((kind) => (kind === 'odd' ? check(key, 'X-Odd: 1') : check(key)))
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk
      })
      socket.end(requests.join(''))
      await once(socket, 'close')
      expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(requests.length)
    })
  },
)
