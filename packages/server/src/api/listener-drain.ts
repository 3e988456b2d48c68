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

import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'

/** Settling ends when no connection came for this long. */
const QUIET_MS = 25
const MOST_SETTLING_MS = 500

/** An accepted connection has at least this long to send its request, and an idle one at most this long for one more. */
const LEAST_LEAVING_MS = 100
const MOST_LEAVING_MS = 1000
const LOOK_EVERY_MS = 10

export class ListenerDrain {
  /** True while each answer has to end its connection. */
  closesConnections = false
  readonly #servers: Server[] = []
  #accepted = 0

  add(server: Server): void {
    this.#servers.push(server)
    server.on('connection', () => {
      this.#accepted += 1
    })
  }

  /** Begins the first step. It lasts until `stopAccepting` is called. */
  tell(): void {
    this.closesConnections = true
  }

  /**
   * Settles, stops listening, and resolves when all connections have ended or those that are left had their time.
   * Each step takes no longer than `delayMs`, so that a short drain stays short.
   */
  async stopAccepting(delayMs: number): Promise<void> {
    this.closesConnections = false
    await this.#settle(Math.min(delayMs, MOST_SETTLING_MS))
    this.closesConnections = true
    // The close of node:http would also end idle connections, at once.
    for (const server of this.#servers) NetServer.prototype.close.call(server)
    const endMs = performance.now() + Math.max(LEAST_LEAVING_MS, Math.min(delayMs, MOST_LEAVING_MS))
    while (performance.now() < endMs && (await this.#connections()) > 0) await pause(LOOK_EVERY_MS)
    // For the same reason: requests that have arrived are read before their connections count as idle.
    await turn()
  }

  async #settle(mostMs: number): Promise<void> {
    const endMs = performance.now() + mostMs
    while (performance.now() < endMs) {
      const before = this.#accepted
      await pause(QUIET_MS)
      // Timers come before sockets in a turn of the event loop. On a busy machine, connections may be waiting to be accepted.
      await turn()
      if (this.#accepted === before) return
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
