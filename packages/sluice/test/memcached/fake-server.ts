// A server of our own on loopback, which answers as a test says.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface FakeServer {
  readonly address: string
  readonly port: number
  /** Number of connections that were accepted so far. */
  readonly connections: number
  /** Everything that clients have sent. */
  readonly received: string
}

/** Answers each piece that a client sends. It gets the piece as text, and the socket. */
export type Answer = (text: string, socket: Socket) => void

/** Starts a server for one test. Greetings are answered as memcached does, unless `answersGreetings` is false. */
export async function fakeServer(answer: Answer, { answersGreetings = true } = {}): Promise<FakeServer> {
  const sockets = new Set<Socket>()
  const seen = { connections: 0, received: '' }
  const server = createServer((socket) => {
    seen.connections += 1
    sockets.add(socket)
    socket.setEncoding('latin1')
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (text: string) => {
      seen.received += text
      if (answersGreetings && text === 'mn\r\n') socket.write('MN\r\n')
      else answer(text, socket)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    address: `127.0.0.1:${port}`,
    get connections() {
      return seen.connections
    },
    get received() {
      return seen.received
    },
  }
}

/** Returns the numbers of the commands in a text, in their order. */
export function opaquesOf(text: string): string[] {
  return [...text.matchAll(/ (O\d+)\r\n/g)].map(([, opaque]) => opaque)
}
