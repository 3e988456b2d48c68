// Sends bytes on a socket, and returns everything that comes back.

import { connect, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'

/** Connections at a time. */
export const AT_ONCE = 25

/**
 * Turns of the event loop without a byte, after which no answer is expected any more. The service runs in the same process, and accepts
 * one connection in a turn.
 */
const QUIET_TURNS = 3 * AT_ONCE

/** Turns between two pieces, so that they are two reads of the service. */
const PIECE_TURNS = 4

export interface Exchange {
  readonly answer: string
  /** True if the service closed the connection before the client did. */
  readonly isClosed: boolean
}

/** Sends each piece by itself, waits until nothing more comes, and ends the connection. */
export async function exchange(address: string, pieces: readonly Buffer[]): Promise<Exchange> {
  const socket = await open(address)
  let answer = ''
  let quiet = 0
  let isClosed = false
  socket.on('data', (chunk: Buffer) => {
    answer += chunk.toString('latin1')
    quiet = 0
  })
  socket.on('end', () => {
    isClosed = true
  })
  for (const piece of pieces) {
    if (socket.writable) socket.write(piece)
    for (let i = 0; i < PIECE_TURNS; i++) await turn()
  }
  for (; quiet < QUIET_TURNS && !isClosed && !socket.destroyed; quiet++) await turn()
  const wasClosed = isClosed || socket.destroyed
  await ended(socket)
  return { answer, isClosed: wasClosed }
}

export function open(address: string): Promise<Socket> {
  const { hostname, port, protocol } = new URL(address)
  const to = { host: hostname, port: Number(port) }
  return new Promise((resolve) => {
    const socket = protocol === 'https:' ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to)
    socket.setNoDelay(true)
    // The service may reset a connection whose rest it does not read.
    socket.on('error', () => {})
    socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => resolve(socket))
  })
}

function ended(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) return resolve()
    socket.once('close', () => resolve())
    socket.end()
  })
}
