import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import { parseRule } from '../algorithms/parse-rule.ts'
import { clientList } from '../http/client-list.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { fetchLimiter } from './fetch.ts'
import { honoLimiter } from './hono.ts'

const request = () => new Request('http://localhost/')

const usual = () => ({ rules: parseRule('3/minute'), store: memoryStore({ clock: fakeClock() }) })

const REMAINING_2 = '"fixed-window:3/1m";r=2;t=60'

describe('where a request comes from', () => {
  const heard: string[] = []
  const key = (_: unknown, { address }: { readonly address: { readonly key: string } }) => {
    heard.push(address.key)
    return address.key
  }
  const limited = fetchLimiter({ ...usual(), key })((_request: Request, ..._rest: unknown[]) => new Response())
  const bun = { requestIP: (_: Request) => ({ address: '2001:db8:1:2::3', family: 'IPv6', port: 1 }) }

  test.each([
    ['Deno', { remoteAddr: { transport: 'tcp', hostname: '203.0.113.1', port: 1 } }, '203.0.113.1'],
    ['Bun', bun, '2001:db8:1:2::/64'],
    ['Bun, under Hono', { server: bun }, '2001:db8:1:2::/64'],
    ['Node, under Hono', { incoming: { socket: { remoteAddress: '::ffff:203.0.113.3' } } }, '203.0.113.3'],
    ['a socket without an address', { incoming: { socket: {} } }, 'unknown'],
    ['a Unix socket under Deno', { remoteAddr: { transport: 'unix', path: '/run/app.sock' } }, 'unknown'],
  ])('%s', async (_, beside, expected) => {
    heard.length = 0
    await limited(request(), beside)
    expect(heard).toEqual([expected])
  })

  test.each([
    ['no argument', undefined],
    ['bindings', { KV: {} }],
    ['a setting with a name that Deno uses', { remoteAddr: 'prod' }],
    ['such a setting that is empty', { remoteAddr: null }],
    ['such a setting with members', { remoteAddr: { region: 'eu' } }],
    ['a hostname that is no text', { remoteAddr: { hostname: 5 } }],
    ['settings with names that Bun and Node use', { requestIP: 'yes', server: 'prod', incoming: 'mail' }],
    ['settings with their members', { server: { requestIP: 'yes' }, incoming: { socket: null } }],
  ])('%s says nothing, so it is an error and no client is counted as unknown', (_, beside) => {
    heard.length = 0
    expect(() => limited(request(), beside)).toThrow(
      expect.objectContaining({
        code: 'ERR_OPTION',
        option: 'peer',
        message: expect.stringMatching(/^fetchLimiter cannot find the address of a request in this runtime: set peer/),
      }),
    )
    expect(heard).toEqual([])
  })

  const addresses = clientList({ addresses: ['203.0.113.9'] })
  const keys = clientList({ keys: ['mallory'] })
  test.each<[string, object]>([
    ['no key', {}],
    ['a key that is the address', { key }],
    ['a key and blocked addresses', { key: () => 'ada', block: addresses }],
    ['a key and allowed addresses', { key: () => 'ada', allow: addresses, block: keys }],
  ])('with %s, the error says what helps', async (_, options) => {
    const message = (door: string) =>
      `${door} cannot find the address of a request in this runtime: set peer, or a key and lists that need no address`
    const handler = fetchLimiter({ ...usual(), ...options })((_request: Request) => new Response())
    expect(() => handler(request())).toThrow(expect.objectContaining({ message: message('fetchLimiter') }))
    const app = new Hono().use(honoLimiter({ ...usual(), ...options })).onError(({ message }, c) => c.text(message))
    expect(await (await app.request('/')).text()).toBe(message('honoLimiter'))
  })

  test('with a key and lists that need no address, no address is missed', async () => {
    const handler = fetchLimiter({ ...usual(), key: () => 'ada', block: keys })((_request: Request) => new Response())
    expect((await handler(request())).status).toBe(200)
  })

  test('peer says so: Workers', async () => {
    const worker = fetchLimiter({ ...usual(), peer: ({ headers }) => headers.get('cf-connecting-ip') })(
      (_request: Request, _env: object) => new Response(),
    )
    const from = (address: string) => new Request('http://localhost/', { headers: { 'CF-Connecting-IP': address } })
    expect((await worker(from('203.0.113.1'), {})).headers.get('RateLimit')).toBe(REMAINING_2)
    expect((await worker(from('203.0.113.2'), {})).headers.get('RateLimit')).toBe(REMAINING_2)
  })

  test('peer is given all that the handler is', async () => {
    const limit = fetchLimiter({ ...usual(), peer: (_, info) => (info as { ip: string }).ip })
    const handler = limit((_request: Request, info: { ip: string }) => new Response(info.ip))
    expect(await (await handler(request(), { ip: '203.0.113.1' })).text()).toBe('203.0.113.1')
  })
})

describe('responses that do not let themselves be changed', () => {
  /** As `fetch` gives them, and `Response.redirect`. */
  const sealed = () => Response.redirect('http://localhost/elsewhere')

  test('are copied', async () => {
    const handler = fetchLimiter({ ...usual(), key: () => 'ada' })(sealed)
    const response = await handler(request() as never)
    expect(response.status).toBe(302)
    expect(response.headers.get('Location')).toBe('http://localhost/elsewhere')
    expect(response.headers.get('RateLimit')).toBe(REMAINING_2)
  })

  test('in Hono too, and what was set before stays', async () => {
    const app = new Hono()
    app.use(async (c, next) => {
      c.header('X-Before', 'yes')
      await next()
    })
    app.use(honoLimiter({ ...usual(), key: () => 'ada' }))
    app.get('/', sealed)
    const response = await app.request('/')
    expect(response.headers.get('RateLimit')).toBe(REMAINING_2)
    expect(response.headers.get('Location')).toBe('http://localhost/elsewhere')
  })

  test('an upgrade goes through as it is', async () => {
    const upgrade = { status: 101, headers: sealed().headers } as Response
    const handler = fetchLimiter({ ...usual(), key: () => 'ada' })((_: Request) => upgrade)
    expect(await handler(request())).toBe(upgrade)
  })
})

test('a field that the handler has set is added to', async () => {
  const handler = fetchLimiter({ ...usual(), key: () => 'ada' })(
    (_: Request) => new Response('', { headers: { RateLimit: '"upstream";r=1;t=9' } }),
  )
  expect((await handler(request())).headers.get('RateLimit')).toBe(`"upstream";r=1;t=9, ${REMAINING_2}`)
})

test('Hono: what middleware before the limiter has set is on the denial too', async () => {
  const app = new Hono()
  app.use(async (c, next) => {
    c.header('Access-Control-Allow-Origin', '*')
    await next()
  })
  app.use(honoLimiter({ ...usual(), rules: parseRule('1/minute'), key: () => 'ada' }))
  app.get('/', (c) => c.text(''))
  await app.request('/')
  const denied = await app.request('/')
  expect(denied.status).toBe(429)
  expect(denied.headers.get('Access-Control-Allow-Origin')).toBe('*')
  expect(denied.headers.get('Content-Type')).toBe('application/problem+json')
})

test('Hono: fields stay on an error of the handler', async () => {
  const app = new Hono()
  app.use(honoLimiter({ ...usual(), key: () => 'ada' }))
  app.get('/', () => {
    throw new Error('oops')
  })
  app.onError((_, c) => c.text('', 500))
  expect((await app.request('/')).headers.get('RateLimit')).toBe(REMAINING_2)
})

describe('a Request that is handled again', () => {
  const again = async (options: object) => {
    const handler = fetchLimiter({ ...usual(), rules: parseRule('1/minute'), key: () => 'ada', ...options })(() => new Response())
    const same = request()
    const statuses: unknown[] = []
    for (let i = 0; i < 4; i++) {
      try {
        statuses.push((await handler(same as never)).status)
      } catch (error) {
        statuses.push(String(error))
      }
    }
    return statuses
  }

  test('is counted each time, and stays denied', async () => {
    expect(await again({})).toEqual([200, 429, 429, 429])
  })

  test('also if onDenied throws', async () => {
    const onDenied = () => {
      throw new Error('no')
    }
    expect(await again({ onDenied })).toEqual([200, 'Error: no', 'Error: no', 'Error: no'])
  })
})

test.each([204, 205, 304])('a denial may have status %i, which allows no body', async (status) => {
  const onDenied = () => ({ status })
  const handler = fetchLimiter({ ...usual(), rules: parseRule('1/minute'), key: () => 'ada', onDenied })(() => new Response())
  await handler(request() as never)
  const app = new Hono()
  app.use(honoLimiter({ ...usual(), rules: parseRule('1/minute'), key: () => 'ada', onDenied }))
  await app.request('/')
  for (const denied of [await handler(request() as never), await app.request('/')]) {
    expect([denied.status, denied.body]).toEqual([status, null])
    expect(denied.headers.get('Retry-After')).toBe('60')
    expect(denied.headers.has('Content-Type')).toBe(false)
  }
})
