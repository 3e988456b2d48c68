// Units and places that are held for a request, and settled with its response.

import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { expect, test } from 'vitest'
import { concurrency } from '../../../src/algorithms/concurrency/concurrency.ts'
import { fixedWindow } from '../../../src/algorithms/fixed-window/fixed-window.ts'
import { createLimiter } from '../../../src/create-limiter.ts'
import { holds } from '../../../src/holds/holds.ts'
import { type EndedResponse, reportUsage, reserving } from '../../../src/middleware/reserving.ts'
import { memoryStore } from '../../../src/stores/memory/memory-store.ts'
import { fakeClock } from '../../../src/testing/fake-clock.ts'
import type { Answered, Asked, Framework, Options } from '../frameworks/framework.ts'
import { RawConnection } from '../raw-client.ts'
import { serving, statuses, times } from '../serving.ts'

const PLACES = concurrency({ limit: 2, ttl: '30s', name: 'places' })
const BYTES = fixedWindow({ limit: 1000, window: '1d', name: 'bytes' })
const REQUESTS = fixedWindow({ limit: 100, window: '1d', name: 'requests' })

/** A limiter over all rules, for the key `ada`. */
function limited() {
  const clock = fakeClock()
  const limiter = createLimiter({ rules: [REQUESTS, BYTES, PLACES], store: memoryStore({ clock }), holds: holds() })
  const used = () => Object.fromEntries(limiter.rules.map(({ name }) => [name, limiter.get('ada', { rule: name })]))
  const options = (reserve = reserving<never>({ hold: { bytes: 100 } })): Options => ({ limiter, key: () => 'ada', reserve })
  return { clock, limiter, used, options }
}

/** Waits until the numbers of a limiter are these. Fails with the last ones after two seconds. */
async function becomes(used: () => object, expected: object): Promise<void> {
  const endMs = Date.now() + 2000
  while (Date.now() < endMs && JSON.stringify(used()) !== JSON.stringify(expected)) await new Promise(setImmediate)
  expect(used()).toEqual(expected)
}

/** A handler that keeps requests until they are released. */
function keptRequests(answered: Answered = { status: 200, body: 'at last' }) {
  const waiting: (() => void)[] = []
  return {
    async handle() {
      await new Promise<void>((resolve) => waiting.push(resolve))
      return answered
    },
    async arrived(count: number) {
      while (waiting.length < count) await new Promise(setImmediate)
    },
    release: (count = 1) => {
      for (const resolve of waiting.splice(0, count)) resolve()
    },
  }
}

/** A body that begins, and is then fed by the test. */
function fedBody() {
  let feed!: ReadableStreamDefaultController<Uint8Array>
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      feed = controller
      controller.enqueue(new TextEncoder().encode('begun'))
    },
  })
  return { body, feed }
}

export function reservingSuite(framework: Framework): void {
  const serve = serving(framework)

  test('places: no more than the limit at once, and the denial names its unit', async () => {
    const { used, options } = limited()
    const kept = keptRequests()
    const { port, ask } = await serve(options(), kept)
    const connections = await Promise.all(times(2, () => RawConnection.open(port)))
    const first = connections.map((connection) => connection.send({}))
    await kept.arrived(2)
    const { status, headers } = await ask()
    expect(status).toBe(429)
    expect(headers['ratelimit-policy']).toBe(
      '"requests";q=100;w=86400, "bytes";q=1000;w=86400, "places";q=2;qu="concurrent-requests"',
    )
    expect(headers.ratelimit).toMatch(/"places";r=0;t=30$/)
    expect(headers['retry-after']).toBe('30')
    kept.release(1)
    expect(statuses(await Promise.race(first))).toEqual([200])
    await becomes(used, { requests: 2, bytes: 200, places: 1 })
    const third = connections[0].send({})
    await kept.arrived(2).catch(() => {})
    kept.release(2)
    await Promise.all([...first, third])
    await becomes(used, { requests: 3, bytes: 300, places: 0 })
    for (const connection of connections) connection.close()
  })

  test('rules of a door need no limiter of your own', async () => {
    const kept = keptRequests()
    const { ask } = await serve({ rules: PLACES, reserve: reserving() }, kept)
    const replies = times(2, () => ask())
    await kept.arrived(2)
    expect((await ask()).status).toBe(429)
    kept.release(2)
    await Promise.all(replies)
    const again = ask()
    await kept.arrived(1)
    kept.release()
    expect((await again).status).toBe(200)
  })

  test.each([
    ['GET', 200, 'hello', 5],
    ['HEAD', 200, 'hello', 0],
    ['GET', 204, '', 0],
    ['GET', 304, '', 0],
    ['GET', 500, 'sorry', 5],
    ['GET', 200, 'Grüße 🌍', 12],
  ])('a response to %s with status %i uses the bytes of its body: %s', async (method, status, body, bytes) => {
    const { used, options } = limited()
    const reserve = reserving<never>({ hold: { bytes: 100 }, used: ({ bytes }) => ({ bytes }) })
    const { ask } = await serve(options(reserve), { handle: async () => ({ status, body }) })
    expect((await ask({ method })).status).toBe(status)
    await becomes(used, { requests: 1, bytes, places: 0 })
  })

  test("'content-length' charges the bytes of a body, also of one that comes in pieces", async () => {
    const clock = fakeClock()
    const limiter = createLimiter({ rules: BYTES, store: memoryStore({ clock }), holds: holds() })
    const { body, feed } = fedBody()
    const { ask } = await serve(
      { limiter, key: () => 'ada', reserve: reserving({ hold: 100, used: 'content-length' }) },
      { handle: async () => ({ status: 200, body }) },
    )
    feed.enqueue(new TextEncoder().encode(' and ended'))
    feed.close()
    expect((await ask()).body).toBe('begun and ended')
    await becomes(() => [limiter.get('ada')], [15])
  })

  test('count gets the chunks of a body, and its total is charged', async () => {
    const { used, options } = limited()
    const reserve = reserving<never>({ hold: { bytes: 100 }, count: () => (chunk) => ({ bytes: chunk.length * 2 }) })
    const { ask } = await serve(options(reserve))
    await ask()
    await becomes(used, { requests: 1, bytes: 10, places: 0 })
  })

  test('the handler reports what it used', async () => {
    const { used, options } = limited()
    const reported: unknown[] = []
    const { ask } = await serve(options(), {
      handle: async ({ own }) => {
        reported.push(reportUsage(own, { bytes: 42 }))
        expect(() => reportUsage(own, { zz: 1 })).toThrow(expect.objectContaining({ code: 'ERR_RULE_NAME' }))
        return { status: 200, body: 'hello' }
      },
    })
    await ask()
    expect(reported).toEqual([true])
    await becomes(used, { requests: 1, bytes: 42, places: 0 })
  })

  test('a client that disconnects before the response frees its place', async () => {
    const { used, options } = limited()
    const kept = keptRequests()
    const ended: Partial<EndedResponse<never>>[] = []
    const reserve = reserving<never>({
      hold: { bytes: 100 },
      used: (response) => {
        ended.push(response)
        return { bytes: 1 }
      },
    })
    const { port } = await serve(options(reserve), kept)
    const connection = await RawConnection.open(port)
    connection.write({})
    await kept.arrived(1)
    connection.abort()
    // A handler of Request and Response is awaited: its place is in use while it runs.
    if (framework.answersWithResponse) {
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setTimeout(resolve, 1))
      expect(used().places).toBe(1)
      kept.release()
    }
    await becomes(used, { requests: 1, bytes: 1, places: 0 })
    kept.release()
    for (let i = 0; i < 5; i++) await new Promise(setImmediate)
    expect(ended).toHaveLength(1)
    expect(ended[0].isComplete).toBe(false)
    expect(used()).toEqual({ requests: 1, bytes: 1, places: 0 })
  })

  test('a client that disconnects in the middle of a body frees its place, and pays what was counted', async () => {
    const { used, options } = limited()
    const { body } = fedBody()
    const ended: Partial<EndedResponse<never>>[] = []
    const reserve = reserving<never>({
      hold: { bytes: 100 },
      used: (response) => {
        ended.push(response)
        return { bytes: response.bytes }
      },
    })
    const { port } = await serve(options(reserve), { handle: async () => ({ status: 200, body }) })
    const connection = await RawConnection.open(port)
    connection.write({})
    await connection.receives('begun')
    expect(used()).toEqual({ requests: 1, bytes: 100, places: 1 })
    connection.abort()
    await becomes(used, { requests: 1, bytes: 5, places: 0 })
    expect(ended).toMatchObject([{ isComplete: false, status: 200, bytes: 5 }])
  })

  test('requests that wait on a connection that breaks free their places', async () => {
    const { used, options } = limited()
    const kept = keptRequests()
    const { port } = await serve(options(), kept)
    const connection = await RawConnection.open(port)
    connection.write({}, {})
    await kept.arrived(2)
    expect(used().places).toBe(2)
    connection.abort()
    if (framework.answersWithResponse) kept.release(2)
    await becomes(used, { requests: 2, bytes: 200, places: 0 })
  })

  test('a handler that throws frees its place; used decides about the units', async () => {
    const { used, options } = limited()
    const reserve = reserving<never>({ hold: { bytes: 100 }, used: ({ status }) => ({ bytes: status === 500 ? 0 : 100 }) })
    const handle = async () => {
      throw new Error('oops')
    }
    const { ask, errors } = await serve(options(reserve), { handle })
    expect(statuses([await ask(), await ask(), await ask()])).toEqual([500, 500, 500])
    expect(errors).toHaveLength(3)
    await becomes(used, { requests: 3, bytes: 0, places: 0 })
  })

  test('a body that fails in the middle frees its place', async () => {
    const { used, options } = limited()
    const { body, feed } = fedBody()
    const { port } = await serve(options(), { handle: async () => ({ status: 200, body }) })
    const connection = await RawConnection.open(port)
    connection.write({})
    await connection.receives('begun')
    feed.error(new Error('upstream broke'))
    await becomes(used, { requests: 1, bytes: 100, places: 0 })
    connection.close()
  })

  test('a request that a later limiter denies is charged no held units', async () => {
    const { used, options } = limited()
    const none = { rules: fixedWindow({ limit: 1, window: '1d', name: 'later' }), key: () => 'ada' }
    const { ask } = await serve([options(), none])
    expect(statuses([await ask(), await ask()])).toEqual([200, 429])
    await becomes(used, { requests: 2, bytes: 100, places: 0 })
  })

  test('mounted twice, it holds once', async () => {
    const { used, options } = limited()
    const kept = keptRequests()
    const same = { ...options(), warn: () => {} }
    const { ask } = await serve([same, same], kept)
    const reply = ask()
    await kept.arrived(1)
    expect(used()).toEqual({ requests: 1, bytes: 100, places: 1 })
    kept.release()
    await reply
    await becomes(used, { requests: 1, bytes: 100, places: 0 })
  })

  test('a hold is extended while its response runs, and no longer', async () => {
    const { clock, used, options } = limited()
    const kept = keptRequests()
    const warnings: string[] = []
    const reserve = reserving<never>({ hold: { bytes: 100 }, longest: '10m' })
    const { ask } = await serve({ ...options(reserve), warn: ({ code }) => warnings.push(code) }, kept)
    const reply = ask()
    await kept.arrived(1)
    for (let i = 0; i < 50; i++) clock.advance(10_000)
    expect(used().places).toBe(1)
    for (let i = 0; i < 20; i++) clock.advance(10_000)
    expect(used()).toEqual({ requests: 1, bytes: 100, places: 0 })
    kept.release()
    expect((await reply).status).toBe(200)
    await becomes(() => warnings, ['WARN_SETTLE_FAILED'])
  })

  test('onDecision that throws leaves nothing held', async () => {
    const { used, options } = limited()
    const onDecision = () => {
      throw new Error('oops')
    }
    const { ask } = await serve({ ...options(), onDecision })
    expect((await ask()).status).toBe(500)
    await becomes(used, { requests: 1, bytes: 0, places: 0 })
  })

  test('errors of used and of units are warned of once, and all that is held is charged', async () => {
    const { used, options } = limited()
    const warnings: string[] = []
    const wrong = [{ bytes: 0.5 }, { zz: 1 }, undefined]
    const reserve = reserving<never>({
      hold: { bytes: 100 },
      used: () => {
        const units = wrong.pop()
        if (units === undefined) throw new Error('oops')
        return units as never
      },
    })
    const { ask } = await serve({ ...options(reserve), warn: ({ code }) => warnings.push(code) })
    for (let i = 1; i <= 3; i++) {
      expect((await ask()).status).toBe(200)
      await becomes(used, { requests: i, bytes: 100 * i, places: 0 })
    }
    expect(warnings).toEqual(['WARN_SETTLE_FAILED'])
  })

  test('shadow mode holds for requests that pass, and lets all through', async () => {
    const { used, options } = limited()
    const kept = keptRequests()
    const denied: unknown[] = []
    const { ask } = await serve(
      { ...options(), mode: 'shadow', onShadowDenied: ({ decision }) => denied.push(decision?.rule) },
      kept,
    )
    const replies = times(3, () => ask())
    await kept.arrived(3)
    expect([used(), denied]).toEqual([{ requests: 2, bytes: 200, places: 2 }, ['places']])
    kept.release(3)
    expect(statuses(await Promise.all(replies))).toEqual([200, 200, 200])
    await becomes(used, { requests: 2, bytes: 200, places: 0 })
  })

  test.runIf(framework.speaksHttp2)('HTTP/2: a stream that is reset frees its place', async () => {
    const { used, options } = limited()
    const bodies = times(2, () => fedBody())
    let next = 0
    const reserve = reserving<never>({ hold: { bytes: 100 }, used: ({ bytes }) => ({ bytes }) })
    const handle = async (_: Asked) => ({ status: 200, body: bodies[next++].body })
    const { port } = await serve(options(reserve), { handle, http2: true })
    const client = connectHttp2(`http://127.0.0.1:${port}`)
    client.on('error', () => {})
    const streams = times(2, () => client.request({ ':path': '/' }))
    for (const stream of streams) stream.on('error', () => {})
    await Promise.all(streams.map((stream) => once(stream, 'data')))
    expect(used().places).toBe(2)
    streams[0].destroy()
    await becomes(used, { requests: 2, bytes: 105, places: 1 })
    bodies[1].feed.close()
    streams[1].resume()
    await becomes(used, { requests: 2, bytes: 10, places: 0 })
    client.close()
  })
}
