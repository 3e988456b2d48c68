// The connections of the RESP door, with decisions that the test makes: order, bounds in number and in time.

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import type { Decision } from 'sluice'
import { expect, onTestFinished, test } from 'vitest'
import { INPUT_BYTES } from '../../src/doors/fixed-buffer-socket.ts'
import { IDLE_MS, INCOMPLETE_MS, MOST_DUE, MOST_REPLY_BYTES, SWEEP_MS, UNAUTHENTICATED_MS } from '../../src/doors/resp/limits.ts'
import { RespServer } from '../../src/doors/resp/resp-server.ts'
import { FailedKeys } from '../../src/keys/failed-keys.ts'
import type { Service } from '../../src/service.ts'
import { Stats } from '../../src/stats/stats.ts'
import { Bare, command } from './resp-service.ts'

interface Asked {
  readonly key: string
  answer(remaining: number): void
  fail(error: Error): void
}

/** A door whose decisions wait until the test makes them. */
async function setUp({ keysRequired = false, mostConnections = 10 } = {}) {
  const asked: Asked[] = []
  const check = (key: string): Promise<Decision> =>
    new Promise((resolve, reject) => {
      const answer = (remaining: number): void =>
        resolve({ allowed: true, limit: 9, remaining, retryAfterMs: 0, resetAfterMs: 0 } as Decision)
      asked.push({ key, answer, fail: reject })
    })
  const run = { startMs: 0, atMs: 0, decided: 0, within: 0, limited: 0 }
  const throttles = { beginRun: () => run, endRun: () => {}, throttleFor: () => ({ check }) }
  const stats = new Stats()
  const service = {
    status: { state: 'ready' },
    keysRequired,
    keys: { verify: (text: string) => (text === 'good' ? { id: 'k', name: 'k', scopes: ['check'], createdAt: 0 } : undefined) },
    failedKeys: new FailedKeys(stats),
    stats,
    logger: pino({ level: 'silent' }),
    decider: { throttles },
  } as unknown as Service
  const door = new RespServer(service, mostConnections)
  const server = createServer(door.serve).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    void door.leave()
    door.destroy()
  })
  const { port } = server.address() as AddressInfo
  const open = async (): Promise<Bare> => {
    const before = door.stats.accepted + door.stats.refused
    const bare = await Bare.open(port)
    while (door.stats.accepted + door.stats.refused === before) await turn()
    return bare
  }
  /** Lets this much time pass for time limits. */
  const pass = (ms: number): void => {
    for (let i = 0; i < ms / SWEEP_MS; i++) door.sweep()
  }
  const until = async (isDone: () => boolean): Promise<void> => {
    while (!isDone()) await turn()
  }
  return { asked, door, open, pass, until }
}

const throttle = (key: string | number): string => command('CL.THROTTLE', key, 8, 1, 60)
const reply = (remaining: number): string => `*5\r\n:0\r\n:9\r\n:${remaining}\r\n:-1\r\n:0\r\n`

test('replies keep the order of their commands, whatever order they are decided in', async () => {
  const { asked, open, until } = await setUp()
  const bare = await open()
  bare.send(`${throttle('a')}${command('PING')}${throttle('b')}${throttle('c')}${command('NOSUCH')}`)
  await until(() => asked.length === 3)
  asked[2].answer(3)
  asked[1].fail(new Error('secret detail'))
  await turn()
  expect(bare.received).toBe('')
  asked[0].answer(1)
  await bare.expect(
    `${reply(1)}+PONG\r\n-ERR_INTERNAL an unexpected error occurred: the log of the service has the reason\r\n${reply(3)}` +
      "-ERR unknown command 'NOSUCH', with args beginning with: \r\n",
  )
})

test('commands that arrived together are decided together, and a maximum of them waits', async () => {
  const { asked, open, until, door } = await setUp()
  const bare = await open()
  const more = 10
  for (let i = 0; i < MOST_DUE + more; i++) bare.send(throttle(i))
  await until(() => asked.length === MOST_DUE)
  for (let i = 0; i < 20; i++) await turn()
  expect(asked).toHaveLength(MOST_DUE)
  expect(door.stats.commands).toBe(MOST_DUE)
  for (const each of asked.slice(0, MOST_DUE)) each.answer(1)
  await until(() => asked.length === MOST_DUE + more)
  for (const each of asked.slice(MOST_DUE)) each.answer(1)
  await bare.expect(reply(1).repeat(MOST_DUE + more))
})

test('a connection that leaves gets the replies that are due first', async () => {
  const { asked, open, until, door } = await setUp()
  const bare = await open()
  bare.send(throttle('a'))
  await until(() => asked.length === 1)
  const left = door.leave()
  await turn()
  asked[0].answer(5)
  expect(await bare.end()).toBe(reply(5))
  await left
})

test('a connection that leaves runs the commands that were read and had to wait', async () => {
  const { asked, open, until, door } = await setUp()
  const bare = await open()
  const count = MOST_DUE + 10
  bare.send(Array.from({ length: count }, (_, i) => throttle(i)).join(''))
  await until(() => asked.length === MOST_DUE && door.keptBytes > 0)
  const read = door.keptBytes
  const left = door.leave()
  for (const each of asked.splice(0)) each.answer(1)
  await until(() => asked.length > 0 || bare.isClosed)
  for (const each of asked) each.answer(2)
  const more = Math.floor(read / throttle(count).length)
  expect(more).toBeGreaterThan(0)
  expect(await bare.end()).toBe(reply(1).repeat(MOST_DUE) + reply(2).repeat(more))
  await left
})

test('a client that ends its side gets the replies that are due first', async () => {
  const { asked, open, until, door } = await setUp()
  const bare = await open()
  bare.socket.end(throttle('a') + command('PING'))
  await until(() => asked.length === 1)
  for (let i = 0; i < 20; i++) await turn()
  asked[0].answer(3)
  expect(await bare.end()).toBe(`${reply(3)}+PONG\r\n`)
  await until(() => door.stats.open === 0)
})

test('a client whose end is read together with its commands gets all replies', async () => {
  const { open } = await setUp()
  const bare = await open()
  // Node reads on at once if the input buffer is full.
  const message = 'x'.repeat(99)
  const echo = command('ECHO', message)
  const count = Math.floor(INPUT_BYTES / echo.length)
  bare.socket.end('\n'.repeat(INPUT_BYTES % echo.length) + echo.repeat(count))
  expect(await bare.end()).toBe(`$99\r\n${message}\r\n`.repeat(count))
})

test('a reply to a client that is gone goes nowhere, and breaks nothing', async () => {
  const { asked, open, until, door } = await setUp()
  const bare = await open()
  bare.send(throttle('a'))
  await until(() => asked.length === 1)
  bare.socket.resetAndDestroy()
  await until(() => door.stats.open === 0)
  asked[0].answer(5)
  await turn()
  await (await open()).ask(command('PING'), '+PONG\r\n')
})

test('connections are bounded in number, and a place is free again when one ends', async () => {
  const { open, door, until } = await setUp({ mostConnections: 2 })
  const [first] = [await open(), await open()]
  expect(await (await open()).end()).toBe('-ERR max number of clients reached\r\n')
  expect(door.stats).toMatchObject({ open: 2, accepted: 2, refused: 1 })
  first.socket.destroy()
  await until(() => door.stats.open === 1)
  await (await open()).ask(command('PING'), '+PONG\r\n')
})

test('a command that is not whole in time ends the connection', async () => {
  const { open, pass, door, until } = await setUp()
  const bare = await open()
  await bare.ask(`${command('PING')}*2\r\n$4\r\nEC`, '+PONG\r\n')
  pass(INCOMPLETE_MS)
  bare.send('HO')
  for (let i = 0; i < 20; i++) await turn()
  expect(bare.isClosed).toBe(false)
  pass(SWEEP_MS)
  await bare.end()
  await until(() => door.stats.open === 0)
})

test('a command that comes in drops is as late as its first byte', async () => {
  const { open, pass } = await setUp()
  const bare = await open()
  bare.send('*2\r\n$4\r\nECHO\r\n$')
  for (let i = 0; i < 3 && !bare.isClosed; i++) {
    for (let turns = 0; turns < 20; turns++) await turn()
    pass(INCOMPLETE_MS / 2)
    bare.send('0')
  }
  expect(await bare.end()).toBe('')
})

test('a connection without commands ends after the idle time, and one that waits for the store does not', async () => {
  const { open, pass, asked, until } = await setUp()
  const [idle, waiting] = [await open(), await open()]
  await idle.ask(command('PING'), '+PONG\r\n')
  waiting.send(throttle('a'))
  await until(() => asked.length === 1)
  pass(IDLE_MS)
  for (let i = 0; i < 20; i++) await turn()
  expect(idle.isClosed).toBe(false)
  pass(SWEEP_MS)
  await idle.end()
  asked[0].answer(4)
  await waiting.expect(reply(4))
})

test('where keys are required, a connection without one ends soon', async () => {
  const { open, pass } = await setUp({ keysRequired: true })
  const [without, withKey] = [await open(), await open()]
  await withKey.ask(command('AUTH', 'good'), '+OK\r\n')
  await without.ask(command('PING'), '-NOAUTH Authentication required.\r\n')
  pass(UNAUTHENTICATED_MS + SWEEP_MS)
  await without.end()
  await withKey.ask(command('PING'), '+PONG\r\n')
})

test('commands that need no key do not make the time without one longer', async () => {
  const { open, pass } = await setUp({ keysRequired: true })
  const bare = await open()
  for (let i = 0; i < 3; i++) {
    await bare.ask(command('RESET'), '+RESET\r\n')
    pass(UNAUTHENTICATED_MS / 3)
  }
  await bare.ask(command('RESET'), '+RESET\r\n')
  pass(SWEEP_MS)
  expect(await bare.end()).toBe('')
})

test('nothing is kept of the bytes after QUIT', async () => {
  const { asked, door, open, until } = await setUp()
  const bare = await open()
  bare.send(`${throttle('a')}${command('QUIT')}`)
  await until(() => asked.length === 1)
  const more = 2 ** 20
  bare.send('x'.repeat(more))
  await until(() => bare.socket.writableLength === 0)
  for (let i = 0; i < 50; i++) await turn()
  expect(door.keptBytes).toBe('+OK\r\n'.length)
  asked[0].answer(5)
  expect(await bare.end()).toBe(`${reply(5)}+OK\r\n`)
})

test('replies that wait for an earlier one are bounded in bytes', async () => {
  const { asked, door, open, until } = await setUp()
  const bare = await open()
  const message = 'x'.repeat(50_000)
  const echoes = 40
  bare.send(`${throttle('a')}${command('ECHO', message).repeat(echoes)}`)
  await until(() => door.stats.commands > 1)
  for (let i = 0; i < 50; i++) await turn()
  // Replies, one more reply, and what is read of the next commands at once.
  expect(door.keptBytes).toBeLessThan(MOST_REPLY_BYTES + message.length + 4 * 65_536)
  expect(door.stats.commands).toBeLessThan(10)
  asked[0].answer(5)
  await bare.expect(reply(5) + `$${message.length}\r\n${message}\r\n`.repeat(echoes))
  expect(door.keptBytes).toBe(0)
})
