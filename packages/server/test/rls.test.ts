// The RLS door over real sockets: what Envoy sends, and what it gets.

import { once } from 'node:events'
import { status } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import { MOST_ENTRIES } from '../src/doors/rls/descriptor-facts.ts'
import { MOST_DESCRIPTORS } from '../src/doors/rls/rate-limit-calls.ts'
import { entriesOf, failureOf, RlsClient, rlsAddress, type WrittenRequest } from './rls-client.ts'
import { begin, openConnection, PATHS, statusOf } from './rls-streams.ts'
import { advance, startService, type TestService, type TestServiceOptions } from './running-service.ts'

const OK = 1
const OVER_LIMIT = 2
const MINUTE = 2

const PER_ADDRESS = {
  route: 'edge|remote_address',
  rules: { algorithm: 'fixed-window', limit: 3, window: '1m', anchor: 'clock', name: 'per-address' },
}

async function startRls(options: TestServiceOptions = {}): Promise<{ service: TestService; rls: RlsClient }> {
  const service = await startService({ ...options, flags: { rls: '127.0.0.1:0', ...options.flags } })
  return { service, rls: new RlsClient(rlsAddress(service), { authorization: `Bearer ${service.key}` }) }
}

async function put(service: TestService, name: string, policy: object): Promise<void> {
  const { status: answered, body } = await service.call('PUT', `/v1/policies/${name}`, policy)
  if (answered !== 201) throw new Error(JSON.stringify(body))
}

/** A request with one descriptor, for the address 10.0.0.7. */
function withDescriptor(extra: object = {}, request: object = {}): WrittenRequest {
  return { domain: 'edge', descriptors: [{ entries: entriesOf({ remote_address: '10.0.0.7' }), ...extra }], ...request }
}

test('a descriptor is limited by the policy for its domain and keys', async () => {
  const { service, rls } = await startRls()
  await put(service, 'per-address', PER_ADDRESS)
  const first = await rls.hit({ remote_address: '10.0.0.7' })
  expect(first).toMatchObject({
    overall_code: OK,
    statuses: [
      {
        code: OK,
        current_limit: { requests_per_unit: 3, unit: MINUTE, name: 'per-address' },
        limit_remaining: 2,
        duration_until_reset: { seconds: 41 },
      },
    ],
    headers: { ratelimit: '"per-address";r=2;t=41', 'ratelimit-policy': '"per-address";q=3;w=60' },
    body: '',
  })
  await rls.hit({ remote_address: '10.0.0.7' })
  await rls.hit({ remote_address: '10.0.0.7' })
  const denied = await rls.hit({ remote_address: '10.0.0.7' })
  expect(denied).toMatchObject({ overall_code: OVER_LIMIT, statuses: [{ code: OVER_LIMIT, limit_remaining: 0 }] })
  expect(denied.headers).toMatchObject({ 'retry-after': '41', 'content-type': 'application/problem+json' })
  expect(JSON.parse(denied.body)).toMatchObject({ title: 'Quota Exceeded', status: 429, 'violated-policies': ['per-address'] })
  expect(await rls.hit({ remote_address: '10.0.0.8' })).toMatchObject({ overall_code: OK })
  advance(41_000)
  expect(await rls.hit({ remote_address: '10.0.0.7' })).toMatchObject({ overall_code: OK, statuses: [{ limit_remaining: 2 }] })
})

test('a descriptor that no policy matches has no limit, and the built-in policy does not count it', async () => {
  const { service, rls } = await startRls()
  await put(service, 'per-address', PER_ADDRESS)
  const unlimited = { code: OK, current_limit: null, limit_remaining: 0, duration_until_reset: null }
  for (const entries of [{ other: 'x' }, { remote_address: '10.0.0.7', path: '/' }]) {
    expect(await rls.hit(entries)).toMatchObject({ overall_code: OK, statuses: [unlimited], headers: {}, body: '' })
  }
  expect(await rls.hit({ remote_address: '10.0.0.7' }, 'another')).toMatchObject({ statuses: [unlimited] })
  const { body } = await service.call('GET', '/v1/stats/policies')
  expect(JSON.stringify(body)).not.toContain('"default"')
})

test('a policy that is off is unlimited, and one in shadow mode denies nothing', async () => {
  const { service, rls } = await startRls()
  await put(service, 'free', { ...PER_ADDRESS, mode: 'off' })
  expect((await rls.hit({ remote_address: 'a' })).statuses).toMatchObject([
    { code: OK, current_limit: null, limit_remaining: 4294967295 },
  ])
  await put(service, 'shadow', { ...PER_ADDRESS, route: 'edge|user', rules: '1/minute', mode: 'shadow' })
  await rls.hit({ user: 'ada' })
  const shadowed = await rls.hit({ user: 'ada' })
  expect(shadowed).toMatchObject({ overall_code: OK, statuses: [{ code: OK, limit_remaining: 0 }], body: '' })
  expect(shadowed.headers['retry-after']).toBeUndefined()
})

test('hits come from the request or the descriptor, where 0 only looks and negative hits are given back', async () => {
  const { service, rls } = await startRls()
  await put(service, 'per-address', PER_ADDRESS)
  const remaining = async (request: WrittenRequest): Promise<(number | undefined)[]> => {
    const { overall_code, statuses } = await rls.ask(request)
    return [overall_code, statuses[0]?.limit_remaining]
  }
  expect(await remaining(withDescriptor({}, { hits_addend: 2 }))).toEqual([OK, 1])
  expect(await remaining(withDescriptor({ hits_addend: { value: 0 } }, { hits_addend: 2 }))).toEqual([OK, 1])
  expect(await remaining(withDescriptor({ hits_addend: { value: 1 } }, { hits_addend: 9 }))).toEqual([OK, 0])
  expect(await remaining(withDescriptor({ hits_addend: { value: 0 } }))).toEqual([OK, 0])
  expect(await remaining(withDescriptor())).toEqual([OVER_LIMIT, 0])
  expect(await remaining(withDescriptor({ hits_addend: { value: 2 }, is_negative_hits: true }))).toEqual([OK, 2])
  expect(await remaining(withDescriptor({ is_negative_hits: true }))).toEqual([OK, 3])
  expect(await remaining(withDescriptor({ hits_addend: { value: '18446744073709551615' } }))).toEqual([OVER_LIMIT, 3])
})

test('a limit in the descriptor is a fixed window on the clock, and counts for its unit', async () => {
  const { rls } = await startRls()
  const ask = (requests_per_unit: number, unit: number, extra: object = {}) =>
    rls.ask(withDescriptor({ limit: { requests_per_unit, unit }, ...extra }))
  expect((await ask(2, MINUTE)).statuses).toMatchObject([
    {
      code: OK,
      current_limit: { requests_per_unit: 2, unit: MINUTE },
      limit_remaining: 1,
      duration_until_reset: { seconds: 41 },
    },
  ])
  expect(await ask(1, MINUTE)).toMatchObject({ overall_code: OVER_LIMIT })
  expect(await ask(3, MINUTE)).toMatchObject({ overall_code: OK, statuses: [{ limit_remaining: 0 }] })
  expect(await ask(1, 3)).toMatchObject({ overall_code: OK, statuses: [{ duration_until_reset: { seconds: 3581 } }] })
  expect(await ask(0, MINUTE)).toMatchObject({ overall_code: OVER_LIMIT, statuses: [{ code: OVER_LIMIT }] })
  for (const unit of [0, 99]) {
    expect(await failureOf(ask(1, unit))).toEqual({
      code: status.INVALID_ARGUMENT,
      details: `descriptors[0].limit.unit is ${unit}: no unit has this number`,
    })
  }
})

const TWO = {
  domain: 'edge',
  descriptors: [{ entries: entriesOf({ remote_address: '10.0.0.7' }) }, { entries: entriesOf({ user: 'ada' }) }],
}

test('each descriptor is charged by itself, and reported in order', async () => {
  const { service, rls } = await startRls()
  await put(service, 'per-address', PER_ADDRESS)
  await put(service, 'per-user', { ...PER_ADDRESS, route: 'edge|user', rules: '1/minute' })
  await rls.ask(TWO)
  const denied = await rls.ask(TWO)
  expect(denied).toMatchObject({
    overall_code: OVER_LIMIT,
    statuses: [
      { code: OK, limit_remaining: 1 },
      { code: OVER_LIMIT, limit_remaining: 0 },
    ],
  })
  expect(denied.headers['ratelimit-policy']).toContain('q=1;')
})

test('with rlsAllOrNothing no descriptor is charged if one denies', async () => {
  const { service, rls } = await startRls({ flags: { rlsAllOrNothing: true } })
  await put(service, 'per-address', PER_ADDRESS)
  await put(service, 'per-user', { ...PER_ADDRESS, route: 'edge|user', rules: '1/minute' })
  await rls.ask(TWO)
  for (let i = 0; i < 3; i++) {
    expect(await rls.ask(TWO)).toMatchObject({ overall_code: OVER_LIMIT, statuses: [{ code: OK }, { code: OVER_LIMIT }] })
  }
  expect((await rls.hit({ remote_address: '10.0.0.7' })).statuses).toMatchObject([{ limit_remaining: 1 }])
  // Many at once: what was charged for a request that was denied after all is given back.
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      rls.ask({ ...TWO, descriptors: [TWO.descriptors[0], { entries: entriesOf({ user: `u${i}` }) }] }),
    ),
  )
  expect(answers.filter(({ overall_code }) => overall_code === OK)).toHaveLength(1)
  expect(await rls.hit({ user: 'u19' })).toMatchObject({ overall_code: OK })
})

const BAD: readonly (readonly [string, WrittenRequest, string])[] = [
  ['without a domain', { descriptors: [{ entries: entriesOf({ a: 'b' }) }] }, 'domain must have 1 to 256 characters'],
  ['with a long domain', withDescriptor({}, { domain: 'd'.repeat(257) }), 'domain must have 1 to 256 characters'],
  ['without descriptors', { domain: 'edge' }, 'a request has 1 to 64 descriptors, got 0'],
  ['without entries', { domain: 'edge', descriptors: [{}] }, 'descriptors[0] has no entries'],
  [
    'with an empty key',
    { domain: 'edge', descriptors: [{ entries: [{ key: '', value: 'x' }] }] },
    'descriptors[0].entries[0].key must have 1 to 256 characters',
  ],
  [
    'with too many entries',
    { domain: 'edge', descriptors: [{ entries: Array.from({ length: MOST_ENTRIES + 1 }, () => ({ key: 'k', value: 'v' })) }] },
    'descriptors[0] has 16 entries: at most 15 are allowed',
  ],
  [
    'with too many descriptors',
    { domain: 'edge', descriptors: Array.from({ length: MOST_DESCRIPTORS + 1 }, () => ({ entries: entriesOf({ a: 'b' }) })) },
    'a request has 1 to 64 descriptors, got 65',
  ],
]

test('a bad request is refused with INVALID_ARGUMENT, and the reason', async () => {
  const { rls } = await startRls()
  for (const [name, request, details] of BAD) {
    expect({ name, ...(await failureOf(rls.ask(request))) }).toEqual({ name, code: status.INVALID_ARGUMENT, details })
  }
})

test('a value of any length is counted, and different values have different counters', async () => {
  const { service, rls } = await startRls()
  await put(service, 'per-address', PER_ADDRESS)
  const long = 'x'.repeat(50_000)
  for (let i = 0; i < 3; i++) await rls.hit({ remote_address: long })
  expect(await rls.hit({ remote_address: long })).toMatchObject({ overall_code: OVER_LIMIT })
  expect(await rls.hit({ remote_address: `${long}y` })).toMatchObject({ overall_code: OK })
  expect(await rls.hit({ remote_address: '' })).toMatchObject({ overall_code: OK, statuses: [{ limit_remaining: 2 }] })
  expect(await failureOf(rls.hit({ remote_address: 'x'.repeat(1024 * 1024) }))).toMatchObject({ code: status.RESOURCE_EXHAUSTED })
})

test('values that contain the separator never share a counter with others', async () => {
  const { service, rls } = await startRls()
  await put(service, 'pair', { ...PER_ADDRESS, route: 'edge|a|b', rules: '1/minute' })
  const pairs = [
    ['x|y', 'z'],
    ['x', 'y|z'],
    ['x%7Cy', 'z'],
    ['x', 'y%7Cz'],
    ['', 'x|y|z'],
  ] as const
  for (const [a, b] of pairs) expect(await rls.hit({ a, b })).toMatchObject({ overall_code: OK })
  for (const [a, b] of pairs) expect(await rls.hit({ a, b })).toMatchObject({ overall_code: OVER_LIMIT })
})

test('callers need an API key with the scope check', async () => {
  const { service } = await startRls()
  const { body } = await service.call('POST', '/v1/keys', { name: 'reader', scopes: ['read'] })
  const ask = (metadata: Readonly<Record<string, string>>) => new RlsClient(rlsAddress(service), metadata).hit({ a: 'b' })
  expect(await failureOf(ask({}))).toEqual({
    code: status.UNAUTHENTICATED,
    details: 'an API key is missing: send it in the metadata as x-api-key or as authorization: Bearer',
  })
  expect(await failureOf(ask({ 'x-api-key': 'wrong' }))).toMatchObject({ code: status.UNAUTHENTICATED })
  expect(await failureOf(ask({ 'x-api-key': body.data.secret }))).toMatchObject({ code: status.PERMISSION_DENIED })
  expect(await ask({ 'x-api-key': service.key })).toMatchObject({ overall_code: OK })
  for (let i = 0; i < 20; i++) await failureOf(ask({}))
  expect(await failureOf(ask({}))).toMatchObject({ code: status.RESOURCE_EXHAUSTED })
  expect(await ask({ authorization: `Bearer ${service.key}` })).toMatchObject({ overall_code: OK })
})

test('the connection of a caller whose address has failed too often is closed, and those of others stay', async () => {
  const { service, rls } = await startRls()
  await rls.hit({ a: 'b' })
  const stranger = openConnection(rlsAddress(service))
  const closed = once(stranger, 'close')
  const codes: unknown[] = []
  for (let i = 0; i < 21; i++) codes.push(await statusOf(begin(stranger, PATHS.ask)))
  expect(codes).toEqual([...Array.from({ length: 20 }, () => status.UNAUTHENTICATED), status.RESOURCE_EXHAUSTED])
  await closed
  expect(await rls.hit({ a: 'b' })).toMatchObject({ overall_code: OK })
})

test('a deadline that has passed is obeyed, and nothing is charged', async () => {
  const { service, rls } = await startRls()
  await put(service, 'per-address', PER_ADDRESS)
  expect(await failureOf(rls.ask(withDescriptor(), Date.now() - 1))).toMatchObject({ code: status.DEADLINE_EXCEEDED })
  expect((await rls.hit({ remote_address: '10.0.0.7' })).statuses).toMatchObject([{ limit_remaining: 2 }])
})
