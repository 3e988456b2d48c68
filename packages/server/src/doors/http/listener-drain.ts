// Stops one listener in steps that lose no request:
//
// | step      | new connections | responses say      | reason                                                                       |
// | --------- | --------------- | ------------------ | ---------------------------------------------------------------------------- |
// | telling   | accepted        | Connection: close  | clients move to other instances, and load balancers notice                    |
// | settling  | accepted        | nothing            | clients keep their connections, so few new ones are opened                     |
// | leaving   | refused         | Connection: close  | a request that is already on its way on an idle connection is still answered   |
//
// Settling comes before the listening socket closes. On close, the kernel resets connections that the process has not accepted
// yet, and loses the requests in them. A refused connection loses nothing, since no request was sent.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { Server as TlsServer } from 'node:tls'
import type { FastChecks } from './fast-checks/fast-checks.ts'

/** Settling ends after this time without a new connection. A busy machine is rarely quiet, so there is an upper bound. */
const QUIET_MS = 25
const MOST_SETTLING_MS = 2000

/** Leaving ends after a pause between requests as long as the drain delay (within these bounds), or when all connections are closed. */
const LEAST_LULL_MS = 100
const MOST_LULL_MS = 1000
const MOST_LEAVING_MS = 3000
const LOOK_EVERY_MS = 10

export class ListenerDrain {
  /** True from the first step on. Then `takes` must be called for each request. */
  hasBegun = false
  /** True while each response closes its connection. */
  #closesConnections = false
  /** Connections that an earlier response closes. */
  readonly #leaving = new WeakSet<Socket>()
  readonly #servers: Server[] = []
  readonly #fastChecks: FastChecks[] = []
  readonly #closed: Promise<unknown>[] = []
  /** Sockets below TLS. Neither node:http nor the fast checks know a connection before its handshake is complete. */
  readonly #belowTls = new Set<Socket>()
  #accepted = 0
  #ended = 0

  add(server: Server, fastChecks: FastChecks | undefined): void {
    this.#servers.push(server)
    if (fastChecks !== undefined) this.#fastChecks.push(fastChecks)
    this.#closed.push(new Promise((resolve) => server.once('close', resolve)))
    server.on('connection', (socket: Socket) => {
      this.#accepted += 1
      if (!(server instanceof TlsServer)) return
      this.#belowTls.add(socket)
      socket.once('close', () => this.#belowTls.delete(socket))
    })
  }

  /** Returns false for a request after a response with `Connection: close`: its response would not be read, so it must not be counted. */
  takes(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request
    if (this.#leaving.has(socket)) {
      request.resume()
      return false
    }
    if (this.#closesConnections) {
      this.#leaving.add(socket)
      this.#ended += 1
      response.setHeader('connection', 'close')
    }
    return true
  }

  /** Starts the step "telling". It lasts until `stopAccepting` is called. */
  begin(): void {
    this.hasBegun = true
    this.#closesConnections = true
    for (const checks of this.#fastChecks) checks.stop()
  }

  /** Resolves when the servers have stopped listening and all their connections have ended. */
  async allEnded(): Promise<void> {
    await Promise.all(this.#closed)
  }

  /**
   * Runs the steps "settling" and "leaving". Resolves when all connections are closed or the time for leaving is over.
   * With a delay of 0 there is no settling.
   */
  async stopAccepting(delayMs: number): Promise<void> {
    this.hasBegun = true
    this.#closesConnections = false
    for (const checks of this.#fastChecks) checks.stop()
    if (delayMs > 0) await this.#settle()
    this.#closesConnections = true
    // The close method of node:http would also close idle connections immediately.
    for (const server of this.#servers) NetServer.prototype.close.call(server)
    await this.#leave(Math.max(LEAST_LULL_MS, Math.min(delayMs, MOST_LULL_MS)))
    // Reads requests that have already arrived, before their connections count as idle.
    await turn()
  }

  async #settle(): Promise<void> {
    const endMs = performance.now() + MOST_SETTLING_MS
    while (performance.now() < endMs) {
      const before = this.#accepted
      await pause(QUIET_MS)
      // Timers run before sockets in a turn of the event loop. On a busy machine, connections may still wait to be accepted.
      await turn()
      if (this.#accepted === before) return
    }
  }

  async #leave(lullMs: number): Promise<void> {
    const endMs = performance.now() + MOST_LEAVING_MS
    let seen = this.#ended
    let lullEndMs = performance.now() + lullMs
    while (performance.now() < Math.min(lullEndMs, endMs) && (await this.#connections()) > 0) {
      await pause(LOOK_EVERY_MS)
      await turn()
      if (this.#ended !== seen) lullEndMs = performance.now() + lullMs
      seen = this.#ended
    }
  }

  async #connections(): Promise<number> {
    const counts = await Promise.all(
      this.#servers.map(
        (server) => new Promise<number>((resolve) => server.getConnections((error, count) => resolve(error ? 0 : count))),
      ),
    )
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** Closes the idle connections that node:http does not know. Fastify closes the others. */
  closeIdleConnections(): void {
    for (const checks of this.#fastChecks) checks.closeIdleConnections()
  }

  closeAllConnections(): void {
    for (const server of [...this.#servers, ...this.#fastChecks]) server.closeAllConnections()
    for (const socket of this.#belowTls) socket.destroy()
  }
}
