// The gRPC server of the RLS door: addresses, certificates, health, reflection, bounds, stops and failures of the store.

import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { credentials, Metadata, status } from '@grpc/grpc-js'
import descriptor from 'protobufjs/ext/descriptor/index.js'
import { expect, onTestFinished, test } from 'vitest'
import { startRedis, until } from '../../../test/servers/redis-server.mjs'
import { loadConfig } from '../src/config/config.ts'
import { MOST_ENTRIES } from '../src/doors/rls/descriptor-facts.ts'
import { MOST_OVERRIDES, OverridePolicies } from '../src/doors/rls/override-policies.ts'
import { loadProtocol, MALFORMED } from '../src/doors/rls/protocol.ts'
import { MOST_DESCRIPTORS } from '../src/doors/rls/rate-limit-calls.ts'
import { MOST_STREAMS } from '../src/doors/rls/rls-connection.ts'
import { certificate, clientCertificate } from './certificate.ts'
import { entriesOf, failureOf, RlsClient, rlsAddress } from './rls-client.ts'
import { startService } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'

const OK = 1
const SERVING = 1
const NOT_SERVING = 2

test('it listens on a socket file', async () => {
  const path = join(temporaryFolder(), 'rls.sock')
  const service = await startService({ flags: { rls: `unix:${path}` } })
  expect(rlsAddress(service)).toBe(`unix:${path}`)
  const rls = new RlsClient(rlsAddress(service), { 'x-api-key': service.key })
  expect(await rls.hit({ a: 'b' })).toMatchObject({ overall_code: OK })
})

test('an address in use is reported with the option', async () => {
  const { addresses } = await startService({ flags: { rls: '127.0.0.1:0' } })
  const taken = String(addresses.at(-1)).replace('grpc://', '')
  await expect(startService({ flags: { rls: taken } })).rejects.toThrow(
    `${taken} is in use by another process: choose another with --rls`,
  )
})

test('with a certificate it speaks TLS, and new connections get a renewed one', async () => {
  const [first, second] = [certificate(), certificate()]
  const service = await startService({
    flags: { rls: '127.0.0.1:0', tlsCert: first.cert, tlsKey: first.key, keysRequired: 'false' },
  })
  expect(rlsAddress(service)).toMatch(/^grpcs:/)
  const client = (cert: string) => new RlsClient(rlsAddress(service), {}, credentials.createSsl(readFileSync(cert)))
  const old = client(first.cert)
  expect(await old.hit({ a: 'b' })).toMatchObject({ overall_code: OK })
  for (const kind of ['cert', 'key'] as const) writeFileSync(first[kind], readFileSync(second[kind]))
  await service.reload()
  expect(await client(second.cert).hit({ a: 'b' })).toMatchObject({ overall_code: OK })
  expect(await old.hit({ a: 'b' })).toMatchObject({ overall_code: OK })
})

test('a TLS client that does not ask for HTTP/2 is refused', async () => {
  const { cert, key } = certificate()
  const service = await startService({ flags: { rls: '127.0.0.1:0', tlsCert: cert, tlsKey: key } })
  const socket = connectTls({
    port: Number(new URL(rlsAddress(service)).port),
    ca: readFileSync(cert),
    checkServerIdentity: () => undefined,
  })
  onTestFinished(() => void socket.destroy())
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1.0 403 /)
})

test('with rlsClientCa a client certificate is needed, and no key', async () => {
  const own = certificate()
  const { ca, cert, key } = clientCertificate()
  const service = await startService({ flags: { rls: '127.0.0.1:0', tlsCert: own.cert, tlsKey: own.key, rlsClientCa: ca } })
  const roots = readFileSync(own.cert)
  const withCertificate = credentials.createSsl(roots, readFileSync(key), readFileSync(cert))
  expect(await new RlsClient(rlsAddress(service), {}, withCertificate).hit({ a: 'b' })).toMatchObject({ overall_code: OK })
  const stranger = credentials.createSsl(roots, readFileSync(own.key), readFileSync(own.cert))
  for (const refused of [credentials.createSsl(roots), stranger]) {
    const rls = new RlsClient(rlsAddress(service), { 'x-api-key': service.key }, refused)
    expect(await failureOf(rls.hit({ a: 'b' }))).toMatchObject({ code: status.UNAVAILABLE })
  }
})

test.each([
  [{ rls: '0.0.0.0:0', keysRequired: 'false' }, 'rls is 0.0.0.0:0, which others can reach'],
  [{ rlsClientCa: 'ca.pem' }, 'rlsClientCa is given without rls'],
  [{ rls: '127.0.0.1:0', rlsClientCa: 'ca.pem' }, 'rlsClientCa is given without tlsCert'],
  [{ rls: 'everywhere' }, 'rls must be an address'],
  [{ rlsConnectionAge: '1ms' }, 'rlsConnectionAge must be a time'],
])('the options %j are refused', async (flags, reason) => {
  await expect(loadConfig({ flags })).rejects.toThrow(reason)
})

test('health is that of the service, also for callers without a key, and draining is not serving', async () => {
  const service = await startService({ flags: { rls: '127.0.0.1:0', drainDelay: '500ms' } })
  const rls = new RlsClient(rlsAddress(service))
  for (const name of ['', 'ratelimit', 'envoy.service.ratelimit.v3.RateLimitService']) {
    expect(await rls.unary('health', 'Check', { service: name })).toMatchObject({ status: SERVING })
  }
  expect(await failureOf(rls.unary('health', 'Check', { service: 'other' }))).toMatchObject({ code: status.NOT_FOUND })
  const told: number[] = []
  const watch = rls.stream('health', 'Watch', [{ service: 'ratelimit' }])
  watch.on('data', (answer: { readonly status: number }) => told.push(answer.status))
  watch.on('error', () => {})
  await until('the first status', async () => told.length === 1)
  const closed = service.close()
  await until('the second status', async () => told.length === 2)
  expect(told).toEqual([SERVING, NOT_SERVING])
  expect(await rls.unary('health', 'Check', { service: 'ratelimit' })).toMatchObject({ status: NOT_SERVING })
  // Requests are still answered while the service drains.
  const asking = new RlsClient(rlsAddress(service), { 'x-api-key': service.key })
  expect(await asking.hit({ a: 'b' })).toMatchObject({ overall_code: OK })
  await closed
  expect(await failureOf(asking.hit({ a: 'b' }))).toMatchObject({ code: status.UNAVAILABLE })
})

test('reflection describes the services, with all files that they need', async () => {
  const service = await startService({ flags: { rls: '127.0.0.1:0' } })
  const rls = new RlsClient(rlsAddress(service))
  const symbol = 'envoy.service.ratelimit.v3.RateLimitService'
  const asked = [{ list_services: '' }, { file_containing_symbol: symbol }, { file_containing_symbol: 'no.Such' }, {}]
  const answers: Record<string, never>[] = []
  const stream = rls.stream('reflection', 'ServerReflectionInfo', asked)
  stream.on('data', (answer) => answers.push(answer as never))
  await once(stream, 'end')
  const [listed, found, missing, unsupported] = answers as never as {
    readonly list_services_response: { readonly service: readonly { readonly name: string }[] }
    readonly file_descriptor_response: { readonly file_descriptor_proto: readonly Buffer[] }
    readonly error_response: { readonly error_code: number }
  }[]
  expect(listed.list_services_response.service.map(({ name }) => name)).toContain(symbol)
  const files = found.file_descriptor_response.file_descriptor_proto.map(
    (file) =>
      descriptor.FileDescriptorProto.decode(file) as unknown as { readonly name: string; readonly dependency: readonly string[] },
  )
  const names = files.map(({ name }) => name)
  expect(names.length).toBeGreaterThan(3)
  expect(files.flatMap(({ dependency }) => dependency).filter((name) => !names.includes(name))).toEqual([])
  expect(missing.error_response.error_code).toBe(status.NOT_FOUND)
  expect(unsupported.error_response.error_code).toBe(status.UNIMPLEMENTED)
})

test('if nothing can be decided, the answer is UNAVAILABLE', async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const flags = { rls: '127.0.0.1:0', store: `redis://127.0.0.1:${redis.port}`, failureMode: 'throw' }
  const service = await startService({ flags })
  await service.call('PUT', '/v1/policies/a', { route: 'edge|a', rules: '5/minute' })
  const rls = new RlsClient(rlsAddress(service), { 'x-api-key': service.key })
  expect((await rls.hit({ a: 'b' })).statuses).toMatchObject([{ limit_remaining: 4 }])
  const look = { domain: 'edge', descriptors: [{ entries: entriesOf({ a: 'b' }), hits_addend: { value: 0 } }] }
  expect((await rls.ask(look)).statuses).toMatchObject([{ limit_remaining: 4 }])
  await redis.kill()
  expect(await failureOf(rls.hit({ a: 'b' }))).toMatchObject({ code: status.UNAVAILABLE })
  expect(await failureOf(rls.ask(look))).toMatchObject({ code: status.UNAVAILABLE })
})

test('a policy with a concurrency rule cannot be checked', async () => {
  const service = await startService({ flags: { rls: '127.0.0.1:0' } })
  await service.call('PUT', '/v1/policies/a', { route: 'edge|a', rules: { algorithm: 'concurrency', limit: 1, ttl: '1m' } })
  const rls = new RlsClient(rlsAddress(service), { 'x-api-key': service.key })
  expect(await failureOf(rls.hit({ a: 'b' }))).toMatchObject({ code: status.FAILED_PRECONDITION })
})

test('the number of policies for limits that requests bring along is bounded, and no count is lost', () => {
  const overrides = new OverridePolicies()
  for (let limit = 1; limit <= MOST_OVERRIDES + 10; limit++) overrides.policyFor({ requests_per_unit: limit, unit: 2 }, '')
  expect(overrides.size).toBe(MOST_OVERRIDES)
  const again = overrides.policyFor({ requests_per_unit: 1, unit: 2 }, '')
  expect(overrides.policyFor({ requests_per_unit: 1, unit: 2 }, '')).toBe(again)
  expect(again.rules[0].name).toBe('override/2')
})

/** Opens a connection, and resolves to the value of SETTINGS_MAX_CONCURRENT_STREAMS that the server sends. */
async function mostStreams(port: number): Promise<number | undefined> {
  const socket: Socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0')
  const [frame] = (await once(socket, 'data')) as [Buffer]
  for (let at = 9; at < 9 + frame.readUIntBE(0, 3); at += 6) {
    if (frame.readUInt16BE(at) === 3) return frame.readUInt32BE(at + 2)
  }
  return undefined
}

const HOSTILE = [
  'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${'\xff'.repeat(1000)}`,
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x05\x01\x05\0\0\0\x01hello',
  `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0${'\0\0\x04\x03\0\0\0\0\x01\0\0\0\x08'.repeat(5000)}`,
]

test('bytes that are not gRPC end their connection, and nothing else', async () => {
  const service = await startService({ flags: { rls: '127.0.0.1:0' } })
  const { port } = new URL(rlsAddress(service))
  const rls = new RlsClient(rlsAddress(service), { 'x-api-key': service.key })
  expect(await rls.hit({ a: 'b' })).toMatchObject({ overall_code: OK })
  for (const bytes of HOSTILE) {
    const socket = connect(Number(port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(bytes, 'latin1')
    expect(await rls.hit({ a: 'b' })).toMatchObject({ overall_code: OK })
    socket.resetAndDestroy()
    expect(await rls.hit({ a: 'b' })).toMatchObject({ overall_code: OK })
  }
  const { path } = loadProtocol().rateLimit.ShouldRateLimit
  const same = (bytes: Buffer): Buffer => bytes
  const bad = (message: Buffer) =>
    new Promise((resolve, reject) => {
      const metadata = new Metadata()
      metadata.set('x-api-key', service.key)
      rls.client.makeUnaryRequest(path, same, same, message, metadata, (error, answer) =>
        error ? reject(error) : resolve(answer),
      )
    })
  for (const message of [Buffer.from('ffffffff', 'hex'), Buffer.from('0a7fff', 'hex'), Buffer.from('12ffffffff0f', 'hex')]) {
    expect(await failureOf(bad(message))).toMatchObject({ code: status.INVALID_ARGUMENT })
  }
  expect(await rls.hit({ a: 'b' })).toMatchObject({ overall_code: OK })
})

const DESCRIPTOR = '12 00'
const ENTRY = '0a 00'
const OVERRIDDEN = '08 01'

test.each([
  ['descriptors', DESCRIPTOR.repeat(500_000)],
  ['entries of a descriptor', `12 c0 84 3d ${ENTRY.repeat(500_000)}`],
  ['fields of a limit', `12 c4 84 3d 12 c0 84 3d ${OVERRIDDEN.repeat(500_000)}`],
  ['domains', ENTRY.repeat(500_000)],
])('a message with too many %s is not decoded, because that would take long', (_, hex) => {
  const { requestDeserialize } = loadProtocol().rateLimit.ShouldRateLimit
  expect(requestDeserialize(Buffer.from(hex.replaceAll(' ', ''), 'hex'))).toBe(MALFORMED)
})

test('values that are not UTF-8 stay different, and others are as they were sent', () => {
  const { requestDeserialize } = loadProtocol().rateLimit.ShouldRateLimit
  const decoded = (value: string): string => {
    const entry = Buffer.concat([Buffer.from([0x12, value.length / 2]), Buffer.from(value, 'hex')])
    const descriptor = Buffer.concat([Buffer.from([0x0a, entry.length]), entry])
    return requestDeserialize(Buffer.concat([Buffer.from([0x12, descriptor.length]), descriptor])).descriptors[0].entries[0].value
  }
  const invalid = ['ff', 'fe', 'c080', 'eda080', '61ff', '61fe', 'efbfbdff'].map(decoded)
  expect(new Set([...invalid, '\ufffd', 'a\ufffd', '\ufffd\ufffd']).size).toBe(invalid.length + 3)
  expect(['61', 'c3a9', 'efbfbd', 'f09f9880', ''].map(decoded)).toEqual(['a', 'é', '\ufffd', '😀', ''])
})

test('the largest request is decoded', () => {
  const { requestDeserialize, requestSerialize } = loadProtocol().rateLimit.ShouldRateLimit
  const entries = Array.from({ length: MOST_ENTRIES }, (_, i) => ({ key: `key-${i}`, value: 'x'.repeat(900) }))
  const descriptor = { entries, limit: { requests_per_unit: 1, unit: 2 }, hits_addend: { value: 7 }, is_negative_hits: true }
  const request = { domain: 'edge', descriptors: Array.from({ length: MOST_DESCRIPTORS }, () => descriptor), hits_addend: 1 }
  expect(requestDeserialize(requestSerialize(request))).toMatchObject({ descriptors: { length: MOST_DESCRIPTORS } })
})

test('a connection may have a bounded number of streams', async () => {
  const service = await startService({ flags: { rls: '127.0.0.1:0' } })
  expect(await mostStreams(Number(new URL(rlsAddress(service)).port))).toBe(MOST_STREAMS)
})

test('a connection that is too old is asked to reconnect, and no request fails', async () => {
  const service = await startService({ flags: { rls: '127.0.0.1:0', rlsConnectionAge: '1s' } })
  const { port } = new URL(rlsAddress(service))
  const rls = new RlsClient(rlsAddress(service), { 'x-api-key': service.key })
  const idle = connect(Number(port), '127.0.0.1')
  onTestFinished(() => void idle.destroy())
  let isEnded = false
  idle.on('close', () => {
    isEnded = true
  })
  idle.on('data', () => {})
  idle.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0')
  await until('the end of the connection', async () => {
    expect(await rls.hit({ a: 'b' })).toMatchObject({ overall_code: OK })
    return isEnded
  })
})
