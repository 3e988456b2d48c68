import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { RawConnection } from '../../test/middleware/raw-client.ts'
import { promiseStore } from '../../test/promise-store.ts'
import { concurrency } from '../algorithms/concurrency/concurrency.ts'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import type { Store } from '../core/store.ts'
import { createLimiter } from '../create-limiter.ts'
import { holds } from '../holds/holds.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { openaiUsage } from '../streams/openai-usage.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { fetchLimiter } from './fetch.ts'
import type { NodeResponse } from './gate/node-adapter.ts'
import type { AnyOptions } from './gate/options.ts'
import { koaLimiter } from './koa.ts'
import { nestLimiter } from './nest.ts'
import { nodeLimiter } from './node.ts'
import { chargeByResponse } from './requests.ts'
import { reportUsage, reserving } from './reserving.ts'

const PLACES = concurrency({ limit: 2, ttl: '30s', name: 'places' })
const UNITS = fixedWindow({ limit: 1000, window: '1d', name: 'units' })

function setUp(store: Store = memoryStore({ clock: fakeClock() })) {
  const limiter = createLimiter({ rules: [UNITS, PLACES], store, holds: holds() })
  const used = async () => [await limiter.get('ada', { rule: 'units' }), await limiter.get('ada', { rule: 'places' })]
  return { limiter, used, options: { limiter, key: () => 'ada' } }
}

const turns = async (count = 10): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise(setImmediate)
}

describe('options that cannot work are refused', () => {
  test.each<[string, unknown, string]>([
    ['an unknown option', { holds: 5 }, 'holds'],
    ['a hold that is a text', { hold: '5' }, 'cost'],
    ['half a unit', { hold: { units: 0.5 } }, 'units'],
    ['a hold of a class', { hold: new Map() }, 'cost'],
    ['atLeast that is negative', { hold: 5, atLeast: -1 }, 'cost'],
    ['used that is a number', { used: 5 }, 'used'],
    ['used that is another word', { used: 'bytes' }, 'used'],
    ['count that is a counter', { count: openaiUsage({ units: () => 1 }) }, 'count'],
    ['a short ttl', { ttl: '500ms' }, 'ttl'],
    ['a long ttl', { ttl: '8d' }, 'ttl'],
    ['a ttl that is none', { ttl: 'soon' }, 'ttl'],
    ['longest that is none', { longest: 0 }, 'longest'],
    ['expired that is another word', { expired: 'refund' }, 'expired'],
    ['no holds', { most: 0 }, 'most'],
    ['a list', [], undefined as never],
  ])('by reserving(): %s', (_, options, option) => {
    expect(() => reserving(options as never)).toThrow(expect.objectContaining({ name: 'SluiceError', option }))
  })

  test.each<[string, AnyOptions<Request>, string, string]>([
    ['reserve that is no such option', { rules: UNITS, reserve: {} as never }, 'reserve', 'what reserving() makes'],
    ['nothing to hold', { rules: UNITS, reserve: reserving() }, 'reserve', 'holds nothing'],
    ['no units to hold', { rules: UNITS, reserve: reserving({ hold: { units: 0 } }) }, 'reserve', 'holds nothing'],
    ['a rule that does not exist', { rules: UNITS, reserve: reserving({ hold: { zz: 1 } }) }, 'zz', 'names no rule'],
    ['more than the limit', { rules: UNITS, reserve: reserving({ hold: 1001 }) }, 'units', 'denies every request'],
    [
      'charge and reserve',
      { rules: PLACES, reserve: reserving(), charge: chargeByResponse('failed-response') },
      'charge',
      'takes charge or reserve',
    ],
    ['places without reserve', { rules: PLACES }, 'holds', 'holds: holds()'],
    [
      'a concurrency rule with a short ttl',
      { rules: concurrency({ limit: 1, ttl: '100ms' }), reserve: reserving() },
      'ttl',
      'at least 1s',
    ],
  ])('by a door: %s', (_, options, option, message) => {
    expect(() => fetchLimiter(options)).toThrow(expect.objectContaining({ option, message: expect.stringContaining(message) }))
  })

  test('what hold returns is checked for each request', async () => {
    const { options, used } = setUp()
    const limited = fetchLimiter({ ...options, reserve: reserving({ hold: () => ({ units: 0.5 }) }) })(() => new Response())
    expect(() => limited(new Request('http://localhost/'))).toThrow(expect.objectContaining({ code: 'ERR_COST' }))
    expect(await used()).toEqual([0, 0])
  })
})

describe('a Request', () => {
  /** A handler whose response has this body. */
  const handlerOf = (body: BodyInit | null, options: AnyOptions<Request>) =>
    fetchLimiter(options)((_request: Request) => new Response(body))

  test('that aborts settles, also if the runtime never reads or cancels the body', async () => {
    const { options, used } = setUp()
    const abort = new AbortController()
    const limited = handlerOf(new ReadableStream(), {
      ...options,
      reserve: reserving({ hold: { units: 5 }, used: () => ({ units: 2 }) }),
    })
    const response = await limited(new Request('http://localhost/', { signal: abort.signal }))
    expect(response.body).not.toBeNull()
    expect(await used()).toEqual([5, 1])
    abort.abort()
    await turns()
    expect(await used()).toEqual([2, 0])
  })

  test('that had aborted before its response settles at once', async () => {
    const { options, used } = setUp()
    const limited = handlerOf('never sent', {
      ...options,
      reserve: reserving({ hold: { units: 5 }, used: ({ isComplete }) => ({ units: isComplete ? 5 : 1 }) }),
    })
    await limited(new Request('http://localhost/', { signal: AbortSignal.abort() }))
    expect(await used()).toEqual([1, 0])
  })

  test('with a response without a body has settled when the response is there', async () => {
    const { options, used } = setUp(promiseStore(fakeClock()))
    await handlerOf(null, { ...options, reserve: reserving({ hold: { units: 5 } }) })(new Request('http://localhost/'))
    expect(await used()).toEqual([5, 0])
  })

  test('with a handler that throws has settled when the error is there', async () => {
    const { options, used } = setUp(promiseStore(fakeClock()))
    const limited = fetchLimiter({
      ...options,
      reserve: reserving({ hold: { units: 5 }, used: ({ status }) => ({ units: status - 499 }) }),
    })(() => {
      throw new Error('oops')
    })
    await expect(limited(new Request('http://localhost/'))).rejects.toThrow('oops')
    expect(await used()).toEqual([1, 0])
  })

  test.each([[undefined], [null], ['text']])('with a handler that returns %s settles', async (returned) => {
    const { options, used } = setUp()
    const limited = fetchLimiter({ ...options, reserve: reserving({ hold: { units: 5 }, used: () => ({ units: 1 }) }) })
    await expect((async () => limited((() => returned) as never)(new Request('http://localhost/')))()).rejects.toThrow(TypeError)
    await turns()
    expect(await used()).toEqual([1, 0])
  })

  test('keeps status, fields and text of the response', async () => {
    const { options } = setUp()
    const made = new Response('hello', {
      status: 201,
      statusText: 'Made',
      headers: [
        ['Set-Cookie', 'a=1'],
        ['Set-Cookie', 'b=2'],
      ],
    })
    const limited = fetchLimiter({ ...options, reserve: reserving({ hold: { units: 5 } }) })(() => made)
    const response = await limited(new Request('http://localhost/'))
    expect([response.status, response.statusText, response.headers.getSetCookie(), await response.text()]).toEqual([
      201,
      'Made',
      ['a=1', 'b=2'],
      'hello',
    ])
    expect(response.headers.get('ratelimit')).toMatch(/"places";r=1/)
  })

  test('with a body that nobody reads does not keep the process alive', async () => {
    const armed = vi.spyOn(globalThis, 'setTimeout')
    onTestFinished(() => armed.mockRestore())
    const { options } = setUp(memoryStore())
    await handlerOf(new ReadableStream(), { ...options, reserve: reserving({ hold: { units: 5 } }) })(
      new Request('http://localhost/'),
    )
    const timers = armed.mock.results.map(({ value }) => value as NodeJS.Timeout)
    const alive = timers.map((timer) => timer.hasRef())
    for (const timer of timers) clearTimeout(timer)
    expect(alive).toEqual([false])
  })

  test('with a body that somebody has read settles at once', async () => {
    const { options, used } = setUp()
    const made = new Response('hello')
    made.body?.getReader()
    const limited = fetchLimiter({ ...options, reserve: reserving({ hold: { units: 5 } }) })(() => made)
    expect(await limited(new Request('http://localhost/'))).toBe(made)
    expect(await used()).toEqual([5, 0])
  })

  test('holds units that depend on it, and less if less is there', async () => {
    const { options, used, limiter } = setUp()
    limiter.inc('ada', 990, { rule: 'units' })
    const granted: unknown[] = []
    const reserve = reserving<Request>({
      hold: async (request) => ({ units: Number(await request.clone().text()) }),
      atLeast: { units: 5 },
      used: (response) => {
        granted.push(response.granted)
        return undefined
      },
    })
    const limited = fetchLimiter({ ...options, reserve })(async (request: Request) => new Response(await request.text()))
    const ask = (body: string) => limited(new Request('http://localhost/', { method: 'POST', body }))
    await (await ask('100')).text()
    expect((await ask('100')).status).toBe(429)
    expect(granted).toEqual([{ units: 10, places: 1 }])
    expect(await used()).toEqual([1000, 0])
  })

  test('reportUsage says if there is something to settle', async () => {
    const { options } = setUp()
    const request = new Request('http://localhost/')
    expect(reportUsage(request, 5)).toBe(false)
    await fetchLimiter({ ...options, reserve: reserving({ hold: { units: 5 } }) })(() => new Response())(request)
    expect(reportUsage(request, 5)).toBe(false)
    expect(() => reportUsage(request, -1)).toThrow(expect.objectContaining({ code: 'ERR_COST' }))
  })

  test('that two limiters with common rules see holds each rule once', async () => {
    const store = memoryStore({ clock: fakeClock() })
    const other = fixedWindow({ limit: 10, window: '1d', name: 'other' })
    const [first, second] = [
      [UNITS, PLACES],
      [UNITS, other],
    ].map((rules) => createLimiter({ rules, store, holds: holds() }))
    const gates = [
      fetchLimiter({ rules: [UNITS, PLACES], store, key: () => 'ada', reserve: reserving({ hold: { units: 5 } }), warn() {} }),
      fetchLimiter({
        rules: [UNITS, other],
        store,
        key: () => 'ada',
        reserve: reserving({ hold: { units: 7, other: 3 } }),
        warn() {},
      }),
    ]
    const seen: unknown[] = []
    const limited = gates[0](
      gates[1](() => {
        seen.push(first.get('ada', { rule: 'units' }), first.get('ada', { rule: 'places' }), second.get('ada', { rule: 'other' }))
        return new Response()
      }),
    )
    expect((await limited(new Request('http://localhost/'))).status).toBe(200)
    expect(seen).toEqual([5, 1, 3])
    expect([first.get('ada', { rule: 'units' }), first.get('ada', { rule: 'places' })]).toEqual([5, 0])
  })

  test('whose places an earlier limiter holds is only charged by a later one', async () => {
    const store = memoryStore({ clock: fakeClock() })
    const other = fixedWindow({ limit: 10, window: '1d', name: 'other' })
    const gateOf = (rules: (typeof PLACES)[]) => fetchLimiter({ rules, store, key: () => 'ada', reserve: reserving(), warn() {} })
    const limiter = createLimiter({ rules: [PLACES, other], store, holds: holds() })
    const seen: unknown[] = []
    const limited = gateOf([PLACES])(
      gateOf([PLACES, other])(() => {
        seen.push(limiter.get('ada', { rule: 'places' }), limiter.get('ada', { rule: 'other' }))
        return new Response()
      }),
    )
    expect((await limited(new Request('http://localhost/'))).status).toBe(200)
    expect([...seen, limiter.get('ada', { rule: 'places' })]).toEqual([1, 1, 0])
  })
})

describe('a response of node:http', () => {
  async function listening(server: Server): Promise<number> {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  async function exchange(options: AnyOptions<IncomingMessage>, answer: (response: ServerResponse) => void): Promise<void> {
    const limit = nodeLimiter(options)
    const server = createServer((request, response) => limit(request, response, () => answer(response)))
    const port = await listening(server)
    await fetch(`http://127.0.0.1:${port}/`).then(
      (response) => response.text(),
      () => {},
    )
    await turns()
    server.closeAllConnections()
    server.close()
  }

  const byBytes = reserving<never>({ hold: { units: 100 }, used: ({ bytes }) => ({ units: bytes }) })

  test.each<[string, number, (response: ServerResponse) => void]>([
    [
      'ends twice',
      1,
      (response) =>
        response
          .on('error', () => {})
          .end('a')
          .end('bc'),
    ],
    [
      'is written after its end',
      1,
      (response) =>
        response
          .on('error', () => {})
          .end('a')
          .write('bc'),
    ],
    [
      'is written in several forms',
      8,
      (response) => {
        response.write('ab')
        response.write(Buffer.from('cd'), () => {})
        response.write(new Uint8Array(3), 'utf8')
        response.end(Buffer.from('h'), 'utf8', () => {})
      },
    ],
    [
      'is written in other encodings',
      7,
      (response) => {
        response.write('AAAA', 'base64')
        response.write('é', 'latin1')
        response.write('ff', 'hex')
        response.end('a', 'utf16le')
      },
    ],
    ['ends with a callback', 0, (response) => response.end(() => {})],
    [
      'is written nothing',
      0,
      (response) => {
        try {
          response.write(null as never)
        } catch {}
        response.end()
      },
    ],
    [
      'is destroyed',
      2,
      (response) => {
        response.write('ab')
        response.destroy()
      },
    ],
  ])('that %s uses %i bytes', async (_, bytes, answer) => {
    const { options, used } = setUp()
    await exchange({ ...options, reserve: byBytes }, answer)
    expect(await used()).toEqual([bytes, 0])
  })

  test('of HTTP/2 counts the last chunk once', async () => {
    const { options, used } = setUp()
    const limit = nodeLimiter({ ...options, reserve: byBytes })
    const server = createHttp2Server((request, response) =>
      limit(request as never, response as never as NodeResponse, () => response.end('abc')),
    )
    const client = connectHttp2(`http://127.0.0.1:${await listening(server)}`)
    const stream = client.request({ ':path': '/' })
    stream.resume()
    await once(stream, 'close')
    await turns()
    client.close()
    server.close()
    expect(await used()).toEqual([3, 0])
  })

  type Door = (
    options: AnyOptions<IncomingMessage>,
  ) => (request: IncomingMessage, response: ServerResponse, next: () => void) => void

  const koaDoor: Door = (options) => {
    const limit = koaLimiter(options as never)
    return (req, res, next) => void limit({ req, res } as never, async () => next())
  }

  const nestDoor: Door = (options) => {
    const guard = nestLimiter(options as never)
    const facts = { getType: () => 'http', getClass: () => Object, getHandler: () => Object }
    return async (request, response, next) => {
      if (await guard.canActivate({ ...facts, getArgByIndex: (index) => [request, response][index] })) next()
    }
  }

  /** A limiter whose store answers a reserve when the test says so, and its server. */
  async function slowStore(reserve = reserving<IncomingMessage>({ hold: { units: 5 } }), door: Door = nodeLimiter) {
    let answer = (): void => {}
    const inner = promiseStore(fakeClock())
    const slow: Store<'async'> = {
      ...inner,
      tally(rules) {
        const tally = inner.tally(rules)
        return {
          async ask(call) {
            const figures = await tally.ask(call)
            if (call.operation === 'reserve') await new Promise<void>((resolve) => (answer = resolve))
            return figures
          },
        }
      },
    }
    const { options, used } = setUp(slow)
    const limit = door({ ...options, reserve })
    const responses: ServerResponse[] = []
    let handled = 0
    const server = createServer((request, response) => {
      responses.push(response)
      limit(request, response, () => {
        handled += 1
      })
    })
    const connection = await RawConnection.open(await listening(server))
    connection.write({})
    while (JSON.stringify(await used()) !== '[5,1]') await turns(1)
    const stop = (): void => {
      connection.close()
      server.close()
    }
    return { used, connection, responses, answer: () => answer(), handled: () => handled, stop }
  }

  const ifComplete = reserving<IncomingMessage>({ hold: { units: 5 }, used: ({ isComplete }) => ({ units: isComplete ? 4 : 1 }) })

  test('whose client left before the store answered is settled at once', async () => {
    const { used, connection, answer, handled, stop } = await slowStore(ifComplete)
    connection.abort()
    await turns(50)
    answer()
    await turns()
    expect([await used(), handled()]).toEqual([[1, 0], 1])
    stop()
  })

  test.each([
    ['nodeLimiter', nodeLimiter],
    ['koaLimiter', koaDoor],
    ['nestLimiter', nestDoor],
  ] as const)('that was sent before the store answered is settled at once: %s', async (_, door) => {
    const { used, connection, responses, answer, stop } = await slowStore(ifComplete, door as Door)
    responses[0].statusCode = 503
    responses[0].end('timeout')
    await connection.receives('timeout')
    await turns(20)
    answer()
    await turns()
    expect(await used()).toEqual([4, 0])
    stop()
  })

  test('many requests on one connection add one listener to its socket', async () => {
    const { options } = setUp()
    const limit = nodeLimiter({ ...options, reserve: reserving({ hold: { units: 1 } }) })
    const counts: number[] = []
    const server = createServer((request, response) => {
      limit(request, response, () => {
        counts.push(request.socket.listenerCount('close'))
        response.end()
      })
    })
    const connection = await RawConnection.open(await listening(server))
    for (let i = 0; i < 20; i++) await connection.send({})
    connection.close()
    server.close()
    expect(Math.max(...counts)).toBeLessThanOrEqual(counts[0])
  })
})

describe('a store that fails', () => {
  test("then 'allow': requests pass, and nothing is held or settled", async () => {
    const clock = fakeClock()
    const inner = promiseStore(clock)
    const down: Store<'async'> = { ...inner, tally: () => ({ ask: () => Promise.reject(new Error('down')) }) }
    const warnings: string[] = []
    const limited = fetchLimiter({
      rules: PLACES,
      store: down,
      key: () => 'ada',
      failure: { then: 'allow' },
      reserve: reserving(),
      warn: ({ code }) => warnings.push(code),
    })(() => new Response('hello'))
    for (let i = 0; i < 5; i++) expect(await (await limited(new Request('http://localhost/'))).text()).toBe('hello')
    expect(warnings).toEqual([])
  })

  test('between reserve and settle: the response is sent, and a warning says so', async () => {
    const inner = promiseStore(fakeClock())
    let isDown = false
    const store: Store<'async'> = {
      ...inner,
      tally(rules) {
        const tally = inner.tally(rules)
        return { ask: (call) => (isDown ? Promise.reject(new Error('down')) : tally.ask(call)) }
      },
    }
    const warnings: string[] = []
    const limited = fetchLimiter({
      rules: PLACES,
      store,
      key: () => 'ada',
      reserve: reserving(),
      warn: ({ code }) => warnings.push(code),
    })(() => {
      isDown = true
      return new Response('hello')
    })
    expect(await (await limited(new Request('http://localhost/'))).text()).toBe('hello')
    expect(warnings).toEqual(['WARN_SETTLE_FAILED'])
  })
})
