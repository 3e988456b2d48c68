import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { fixedBufferSocket, INPUT_BYTES } from './fixed-buffer-socket.ts'

/** A server that answers each chunk with its length, and ends its side when the client does. */
async function setUp({ prepare = (_accepted: Socket): void => {}, bytes = INPUT_BYTES } = {}) {
  const buffer = Buffer.alloc(bytes)
  const received: Buffer[] = []
  const sockets: (Socket | undefined)[] = []
  const server = createServer({ allowHalfOpen: true }, (accepted) => {
    prepare(accepted)
    const take = (chunk: Buffer): boolean => {
      received.push(chunk)
      return true
    }
    const callback = (count: number): boolean => take(Buffer.from(buffer.subarray(0, count)))
    const own = fixedBufferSocket(accepted, { buffer, callback })
    sockets.push(own)
    const socket = own ?? accepted.on('data', take)
    socket.on('end', () => socket.end('bye'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
  })
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => {
    client.destroy()
  })
  const connections = (): Promise<number> =>
    new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))))
  const text = (): string => Buffer.concat(received).toString()
  return { client, sockets, received, text, connections }
}

test('input comes in the buffer, in order, and no chunk is longer than it', async () => {
  const { client, sockets, received, text } = await setUp({ bytes: 16 })
  const sent = Array.from({ length: 100 }, (_, i) => `message ${i};`).join('')
  client.write(sent)
  while (text().length < sent.length) await turn()
  expect(sockets[0]).toBeDefined()
  expect(text()).toBe(sent)
  expect(Math.max(...received.map(({ length }) => length))).toBeLessThanOrEqual(16)
})

test('a paused socket reads nothing until it is resumed', async () => {
  const { client, sockets, text } = await setUp()
  client.write('a')
  while (text() !== 'a') await turn()
  sockets[0]?.pause()
  client.write('b')
  for (let i = 0; i < 50; i++) await turn()
  expect(text()).toBe('a')
  sockets[0]?.resume()
  while (text() !== 'ab') await turn()
})

test.each([
  ['a socket with a fixed buffer', (): void => {}, true],
  ['an accepted socket without the handle that is expected', (accepted: Socket) => hideBuffer(accepted), false],
  ['an accepted socket of a subclass', (accepted: Socket) => Object.assign(accepted, { constructor: Object }), false],
])('%s is half open, and the server counts it until it ends', async (_, prepare, isFixed) => {
  const { client, sockets, text, connections } = await setUp({ prepare })
  client.write('hello')
  while (text() !== 'hello') await turn()
  expect(sockets[0] !== undefined).toBe(isFixed)
  expect(await connections()).toBe(1)
  client.end()
  const [answer] = await once(client, 'data')
  expect(String(answer)).toBe('bye')
  while ((await connections()) > 0) await turn()
})

test('a client that resets its connection is noticed', async () => {
  const { client, sockets, text, connections } = await setUp()
  client.write('hello')
  while (text() !== 'hello') await turn()
  const failed = once(sockets[0] as Socket, 'error')
  client.resetAndDestroy()
  expect(await failed).toMatchObject([{ code: 'ECONNRESET' }])
  while ((await connections()) > 0) await turn()
})

/** Stands for a version of Node whose handles cannot read into a given buffer. */
function hideBuffer(accepted: Socket): void {
  Object.assign((accepted as unknown as { _handle: object })._handle, { useUserBuffer: undefined })
}
