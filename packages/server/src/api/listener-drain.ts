// The end of one listener, in steps that lose no request:
//
// | step      | new connections | answers say        | why                                                                          |
// | --------- | --------------- | ------------------ | ---------------------------------------------------------------------------- |
// | telling   | accepted        | Connection: close  | clients move to other instances, while load balancers notice                  |
// | settling  | accepted        | nothing            | clients keep the connection that they have, so that few make new ones          |
// | leaving   | refused         | Connection: close  | a request that is on its way on an idle connection still arrives and is answered |
//
// Settling comes before the listening socket closes: the kernel resets connections that it has taken and the process has not
// accepted yet, with the requests that are already in them. A refused connection loses nothing, since nothing was sent.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'

/** Settling ends when no connection came for this long. A busy machine takes longer than a lull, hence the generous bound. */
const QUIET_MS = 25
const MOST_SETTLING_MS = 2000

/** Leaving ends when no request came for as long as the drain delay, within these bounds, or all connections have ended. */
const LEAST_LULL_MS = 100
const MOST_LULL_MS = 1000
const MOST_LEAVING_MS = 3000
const LOOK_EVERY_MS = 10

export class ListenerDrain {
  /** True from the first step on: then `takes` is called for each request. */
  hasBegun = false
  /** True while each answer ends its connection. */
  #closesConnections = false
  /** Connections that an earlier answer ends. */
  readonly #leaving = new WeakSet<Socket>()
  readonly #servers: Server[] = []
  readonly #closed: Promise<unknown>[] = []
  #accepted = 0
  #ended = 0

  add(server: Server): void {
    this.#servers.push(server)
    this.#closed.push(new Promise((resolve) => server.once('close', resolve)))
    server.on('connection', () => {
      this.#accepted += 1
    })
  }

  /** False for a request that comes after an answer with `Connection: close`: nobody would read its answer, so it must not count. */
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

  /** Begins the first step. It lasts until `stopAccepting` is called. */
  tell(): void {
    this.hasBegun = true
    this.#closesConnections = true
  }

  /** Resolves when the servers have stopped listening and all their connections have ended. */
  async allEnded(): Promise<void> {
    await Promise.all(this.#closed)
  }

  /**
   * Settles, stops listening, and resolves when all connections have ended or those that are left had their time.
   * Without a delay it does not settle.
   */
  async stopAccepting(delayMs: number): Promise<void> {
    this.hasBegun = true
    this.#closesConnections = false
    if (delayMs > 0) await this.#settle()
    this.#closesConnections = true
    // The close of node:http would also end idle connections, at once.
    for (const server of this.#servers) NetServer.prototype.close.call(server)
    await this.#leave(Math.max(LEAST_LULL_MS, Math.min(delayMs, MOST_LULL_MS)))
    // Requests that have arrived are read before their connections count as idle.
    await turn()
  }

  async #settle(): Promise<void> {
    const endMs = performance.now() + MOST_SETTLING_MS
    while (performance.now() < endMs) {
      const before = this.#accepted
      await pause(QUIET_MS)
      // Timers come before sockets in a turn of the event loop. On a busy machine, connections may be waiting to be accepted.
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

  closeAllConnections(): void {
    for (const server of this.#servers) server.closeAllConnections()
  }
}
