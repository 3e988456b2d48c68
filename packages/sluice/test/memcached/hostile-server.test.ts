// Servers that send what they should not. The store fails these calls, stays within its memory, and gives no answer to a wrong call.

import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ServerChoice } from '../../src/engines/server-choice.ts'
import { createLimiter, fixedWindow, type SluiceError } from '../../src/index.ts'
import type { MemcachedStoreOptions } from '../../src/stores/memcached/memcached-options.ts'
import { memcachedStore } from '../../src/stores/memcached/memcached-store.ts'
import { type Answer, type FakeServer, fakeServer, opaquesOf } from './fake-server.ts'

const RULE = fixedWindow({ limit: 5, window: '1h' })

/** A limiter without a breaker, whose refused calls are tried again until the time is over. */
function limiterOn({ address }: FakeServer, timeoutMs = 200) {
  const store = memcachedStore({ servers: [address], connectTimeoutMs: timeoutMs / 2, timeoutMs: timeoutMs / 2 })
  onTestFinished(() => store.close())
  return createLimiter({ rules: RULE, store, failure: { timeoutMs, failures: 1_000_000 } })
}

/** Hits once, without the guard of a limiter: no deadline, and a refused hit is not tried again. */
function hitOnce({ address }: FakeServer, options: Partial<MemcachedStoreOptions> = {}): Promise<string> {
  const store = memcachedStore({ servers: [address], connectTimeoutMs: 1000, timeoutMs: 200, ...options })
  onTestFinished(() => store.close())
  return codeOf(store.tally([RULE]).ask({ operation: 'hit', charges: [{ rule: 0, key: 'ada', amount: 1 }] }))
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    (answer) => `answered ${JSON.stringify(answer)}`,
    ({ code }: SluiceError) => code,
  )
}

/** Misses every read, and gives every write to `onWrite`. */
function missing(onWrite: (opaque: string, socket: Parameters<Answer>[1]) => void): Answer {
  return (text, socket) => {
    for (const opaque of opaquesOf(text)) {
      if (text.startsWith('mg ')) socket.write('EN\r\n')
      else onWrite(opaque, socket)
    }
  }
}

describe('replies to a read', () => {
  test.each([
    ['garbage', 'garbage\r\n'],
    ['binary garbage', '\u0000\u0081\u00ff\r\n'],
    ['an answer to another command', 'EN O4242\r\n'],
    ['an answer to a write', 'HD O1\r\n'],
    ['a value with a huge length', 'VA 99999999999 c1 O1\r\n'],
    ['a value above the bound', 'VA 1000001 c1 O1\r\n'],
    ['the classic protocol', 'END\r\n'],
    ['SERVER_ERROR', 'SERVER_ERROR something new\r\n'],
    ['out of memory', 'SERVER_ERROR out of memory writing get response\r\n'],
  ])('%s: refused, nothing was counted', async (_, reply) => {
    const server = await fakeServer((text, socket) => text.startsWith('mg ') && socket.write(reply, 'latin1'))
    expect(await hitOnce(server)).toBe('ERR_STORE_REFUSED')
  })

  test.each([
    ['ERROR', 'ERROR\r\n'],
    ['CLIENT_ERROR', 'CLIENT_ERROR bad command line format\r\n'],
  ])('%s: fatal, and a new connection is used', async (_, reply) => {
    const server = await fakeServer((text, socket) => text.startsWith('mg ') && socket.write(reply))
    const limiter = limiterOn(server)
    expect(await codeOf(limiter.hit('ada'))).toBe('ERR_STORE_FATAL')
    await codeOf(limiter.hit('ada'))
    expect(server.connections).toBe(2)
  })

  test('a second answer that nobody asked for ends the connection', async () => {
    const server = await fakeServer((text, socket) => text.startsWith('mg ') && socket.write('EN\r\nEN\r\n'))
    // A read that is repeated after a pause of the machine would take one more connection.
    const limiter = limiterOn(server, 10_000)
    expect((await limiter.peek('ada')).allowed).toBe(true)
    expect((await limiter.peek('ada')).allowed).toBe(true)
    expect(server.connections).toBe(2)
  })

  test('a value that nobody has written there: fatal, and only for its key', async () => {
    const server = await fakeServer((text, socket) => {
      for (const opaque of opaquesOf(text)) socket.write(text.includes('bad') ? `VA 3 c1 ${opaque}\r\nabc\r\n` : `EN\r\n`)
    })
    const limiter = limiterOn(server)
    expect(await codeOf(limiter.peek('bad'))).toBe('ERR_STORE_FATAL')
    expect((await limiter.peek('good')).allowed).toBe(true)
  })
})

describe('replies to a write', () => {
  test.each([
    ['garbage', 'garbage\r\n'],
    ['an answer to another command', 'HD O4242\r\n'],
    ['an answer without a number', 'HD\r\n'],
    ['an answer to a read', 'EN O2\r\n'],
    ['a value', 'VA 1 c1 O2\r\nx\r\n'],
    ['an unknown error', 'SERVER_ERROR something new\r\n'],
    ['half a line', 'HD O2\r'],
  ])('%s: unknown, and the write is not repeated', async (_, reply) => {
    const server = await fakeServer(missing((_opaque, socket) => socket.write(reply)))
    expect(await hitOnce(server)).toBe('ERR_STORE_UNKNOWN')
    expect(server.received.match(/^ms /gm)).toHaveLength(1)
  })

  test('out of memory: refused', async () => {
    const server = await fakeServer(missing((_, socket) => socket.write('SERVER_ERROR out of memory storing object\r\n')))
    expect(await hitOnce(server)).toBe('ERR_STORE_REFUSED')
  })

  test('too large: fatal', async () => {
    const server = await fakeServer(missing((_, socket) => socket.write('SERVER_ERROR object too large for cache\r\n')))
    expect(await hitOnce(server)).toBe('ERR_STORE_FATAL')
  })

  test('others are first each time: refused after all attempts', async () => {
    let writes = 0
    const server = await fakeServer(
      missing((opaque, socket) => {
        writes += 1
        socket.write(`NS ${opaque}\r\n`)
      }),
    )
    expect(await hitOnce(server, { attempts: 3 })).toBe('ERR_STORE_REFUSED')
    expect(writes).toBe(3)
  })
})

const NAMES = Array.from({ length: 64 }, (_, i) => `name${i}`)

test('a version is not used on another connection: a server that has restarted uses the same numbers again', async () => {
  const log: string[] = []
  let slow = ''
  /** Reads of the second server are answered after the first one has closed its connection. */
  const answer: Answer = (text, socket) => {
    for (const line of text.match(/^m[gs] .*$/gm) ?? []) {
      const [opaque] = opaquesOf(`${line}\r\n`)
      const isSlow = socket.localPort === Number(slow)
      if (!isSlow) log.push(line.replace(/ T\d+/, ''))
      if (line.startsWith('ms ')) socket.write(`HD ${opaque}\r\n`)
      else if (isSlow) setTimeout(() => socket.write(`EN ${opaque}\r\n`), 100)
      else {
        socket.write(Buffer.concat([Buffer.from(`VA ${record.length} c7 ${opaque}\r\n`), record, Buffer.from('\r\n')]))
        if (log.length === 1) setTimeout(() => socket.destroy(), 20)
      }
    }
  }
  // The bytes of a record without states.
  const record = Buffer.from([1])
  const servers = [await fakeServer(answer), await fakeServer(answer)]
  const choice = new ServerChoice(servers.map(({ address }) => address))
  const nameOn = (index: number): string => NAMES.find((name) => choice.indexOf(name) === index) ?? ''
  slow = String(servers[1].port)
  const store = memcachedStore({ servers: servers.map(({ address }) => address), prefix: 'p' })
  onTestFinished(() => store.close())
  const charges = [nameOn(0), nameOn(1)].map((key, rule) => ({ rule, key, amount: 1 }))
  await store.tally([RULE, fixedWindow({ limit: 9, window: '1h' })]).ask({ operation: 'hit', charges })
  const key = `p|${nameOn(0)}`
  expect(log.map((line) => line.replace(/ O\d+$/, ''))).toEqual([
    `mg ${key} v c`,
    `mg ${key} v c`,
    expect.stringMatching(/^ms .* C7$/),
  ])
})

describe('connections', () => {
  test.each([
    ['closes each connection', (_: string, socket: { end(): unknown }) => void socket.end()],
    ['sends nothing', () => {}],
    ['sends a line without an end', (_: string, socket: { write(text: string): unknown }) => void socket.write('M')],
    ['knows no meta protocol', (_: string, socket: { write(text: string): unknown }) => void socket.write('ERROR\r\n')],
    [
      'has too many connections',
      (_: string, socket: { end(text: string): unknown }) => void socket.end('ERROR Too many open connections\r\n'),
    ],
    [
      'answers with HTTP',
      (_: string, socket: { end(text: string): unknown }) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    ],
  ])('a server that %s at the greeting: no command is sent', async (what, answer) => {
    const server = await fakeServer(answer, { answersGreetings: false })
    const expected = what.startsWith('knows') ? 'ERR_STORE_FATAL' : 'ERR_STORE_REFUSED'
    expect(await hitOnce(server)).toBe(expected)
    expect(server.received).not.toMatch(/m[gsd] /)
  })

  test('while a server is away, new connections come at a bounded rate', async () => {
    const server = await fakeServer((_, socket) => socket.end(), { answersGreetings: false })
    const limiter = limiterOn(server)
    const endMs = performance.now() + 500
    let calls = 0
    while (performance.now() < endMs) {
      await codeOf(limiter.hit(`k${calls++ % 50}`))
      await pause(0)
    }
    // Pauses of 10 to 20 ms, 20 to 40 ms, and so on.
    expect(server.connections).toBeLessThan(10)
    expect(server.connections).toBeGreaterThan(2)
  })

  test('a server that accepts, greets and then ends is not asked again at once', async () => {
    const server = await fakeServer((_, socket) => socket.end())
    const limiter = limiterOn(server)
    for (let i = 0; i < 5; i++) await codeOf(limiter.hit('ada'))
    expect(server.connections).toBeLessThan(50)
  })

  test('a server that floods is cut off at the first byte that is too much', async () => {
    let sent = 0
    const flood = 'x'.repeat(65_536)
    const server = await fakeServer((text, socket) => {
      if (!text.startsWith('mg ')) return
      const more = (): void => {
        if (socket.destroyed || sent > 200_000_000) return
        sent += flood.length
        socket.write(flood, more)
      }
      more()
    })
    const before = process.memoryUsage().rss
    expect(await hitOnce(server)).toBe('ERR_STORE_REFUSED')
    expect(process.memoryUsage().rss - before).toBeLessThan(64_000_000)
    expect(sent).toBeLessThan(100_000_000)
  })

  test('a server that never answers: no more commands are sent than the bound, and others are refused at once', async () => {
    const server = await fakeServer(() => {})
    const store = memcachedStore({ servers: [server.address], timeoutMs: 300, maxCommands: 10 })
    onTestFinished(() => store.close())
    const asked = Array.from({ length: 50 }, (_, i) =>
      codeOf(store.tally([RULE]).ask({ operation: 'peek', charges: [{ rule: 0, key: `user:${i}`, amount: 1 }] })),
    )
    expect(new Set(await Promise.all(asked))).toEqual(new Set(['ERR_STORE_REFUSED']))
    expect(server.received.match(/^mg /gm)).toHaveLength(10)
  })

  test('a server that never reads: bytes that wait are bounded', async () => {
    const server = await fakeServer((_, socket) => void socket.pause())
    const store = memcachedStore({ servers: [server.address], timeoutMs: 300, maxQueuedBytes: 1024 })
    onTestFinished(() => store.close())
    const asked = Array.from({ length: 500 }, (_, i) =>
      codeOf(store.tally([RULE]).ask({ operation: 'peek', charges: [{ rule: 0, key: `user:${i}`, amount: 1 }] })),
    )
    expect(new Set(await Promise.all(asked))).toEqual(new Set(['ERR_STORE_REFUSED']))
    expect(server.received.length).toBeLessThan(1100)
  })
})
