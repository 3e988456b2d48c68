// Checks read straight from the sockets of a node:http server, because node:http takes longer for a request than its check takes.
// Invariant: there is no second opinion on anything unusual. A connection goes to node:http with its first byte that is not part of a
// well-formed check with a valid key, and stays there.

import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import { INPUT_BYTES } from '../../fixed-buffer-socket.ts'
import { FlushList } from '../../flush-list.ts'
import type { Authentication } from '../authentication.ts'
import type { CheckDoor } from '../check-door.ts'
import { CHECK_EVERY_MS, KEEP_ALIVE_MS, type OpenRequests } from '../http-server.ts'
import { AnswerTexts } from './answer-text.ts'
import { CheckHead } from './check-head.ts'
import { FastConnection } from './fast-connection.ts'

export interface FastChecksOptions {
  readonly server: Server
  readonly door: CheckDoor
  readonly authentication: Authentication
  readonly openRequests: OpenRequests
}

export class FastChecks {
  readonly door: CheckDoor
  readonly authentication: Authentication
  readonly openRequests: OpenRequests
  readonly head = new CheckHead()
  readonly texts = new AnswerTexts()
  /** The check door answers all checks of a turn in one callback. */
  readonly flushes = new FlushList(process.nextTick)
  /** Input of the connection that reads at this moment. */
  readonly input = Buffer.allocUnsafeSlow(INPUT_BYTES)
  /** Connections that node:http does not have. */
  readonly connections = new Set<FastConnection>()
  /** Number of sweeps. Ages of connections are counted in sweeps. */
  sweeps = 0
  /** True once every request goes to node:http. */
  isStopped = false
  readonly #server: Server
  readonly #serve: (socket: Socket) => void

  /** Takes the place of the listener with which node:http receives connections. */
  constructor({ server, door, authentication, openRequests }: FastChecksOptions) {
    this.door = door
    this.authentication = authentication
    this.openRequests = openRequests
    this.#server = server
    const event = server instanceof TlsServer ? 'secureConnection' : 'connection'
    const [serve] = server.listeners(event) as ((socket: Socket) => void)[]
    this.#serve = serve
    server.off(event, serve)
    server.on(event, (socket: Socket) => {
      if (this.isStopped) this.serve(socket)
      else this.connections.add(new FastConnection(this, socket))
    })
    const timer = setInterval(() => this.sweep(), CHECK_EVERY_MS)
    timer.unref()
    server.once('close', () => clearInterval(timer))
  }

  /** Gives a socket to node:http. */
  serve(socket: Socket): void {
    this.#serve.call(this.#server, socket)
  }

  /** Runs every CHECK_EVERY_MS. */
  sweep(): void {
    this.sweeps += 1
    for (const connection of this.connections) connection.sweep(KEEP_ALIVE_MS / CHECK_EVERY_MS)
  }

  /** From this call on, node:http gets every request that is not complete yet. */
  stop(): void {
    this.isStopped = true
    for (const connection of this.connections) connection.stop()
  }

  closeIdleConnections(): void {
    for (const connection of this.connections) if (connection.isIdle) connection.destroy()
  }

  closeAllConnections(): void {
    for (const connection of this.connections) connection.destroy()
  }
}
