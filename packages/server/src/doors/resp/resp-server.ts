// The connections of the RESP door, and the parts that they share.
// Invariant: input, parser and reply writer are used by one connection at a time, because commands are read in one go.

import type { Socket } from 'node:net'
import { clientAddress } from 'sluice/http'
import type { Service } from '../../service.ts'
import type { DoorStats } from '../../stats/door-stats.ts'
import { INPUT_BYTES } from '../fixed-buffer-socket.ts'
import { FlushList } from '../flush-list.ts'
import { CommandTable } from './commands/command-table.ts'
import { Connection } from './connection.ts'
import { MOST_CONNECTIONS, SWEEP_MS } from './limits.ts'
import { ReplyWriter } from './protocol/reply-writer.ts'
import { RequestParser } from './protocol/request-parser.ts'

export class RespServer {
  readonly service: Service
  readonly stats: DoorStats
  readonly commands: CommandTable
  readonly parser = new RequestParser()
  readonly reply = new ReplyWriter()
  readonly flushes = new FlushList(setImmediate)
  /** Input of the connection that reads at this moment. */
  readonly input = Buffer.allocUnsafeSlow(INPUT_BYTES)
  /** Number of sweeps. Ages of connections are counted in sweeps. */
  sweeps = 0
  readonly #connections = new Set<Connection>()
  readonly #address = clientAddress({ trustProxy: 0 })
  readonly #timer: NodeJS.Timeout
  readonly #mostConnections: number
  #lastId = 0
  #onAllGone: (() => void) | undefined

  constructor(service: Service, mostConnections = MOST_CONNECTIONS) {
    this.service = service
    this.stats = service.stats.statsOfDoor('resp')
    this.commands = new CommandTable(service.logger)
    this.#mostConnections = mostConnections
    this.#timer = setInterval(() => this.sweep(), SWEEP_MS)
    this.#timer.unref()
  }

  /** Takes over a socket whose handshake is done. */
  readonly serve = (socket: Socket): void => {
    if (this.#connections.size >= this.#mostConnections) {
      this.stats.refused += 1
      socket.on('error', () => {})
      socket.write('-ERR max number of clients reached\r\n')
      socket.destroySoon()
      return
    }
    this.stats.accepted += 1
    this.#lastId += 1
    this.#connections.add(new Connection(this, socket, this.#lastId))
    this.stats.open = this.#connections.size
  }

  forget(connection: Connection): void {
    this.#connections.delete(connection)
    this.stats.open = this.#connections.size
    if (this.#connections.size === 0) this.#onAllGone?.()
  }

  addressOf({ remoteAddress }: Socket): string {
    return this.#address(remoteAddress, {}).key
  }

  /** Bytes that connections keep, besides what was written to their sockets. */
  get keptBytes(): number {
    let bytes = 0
    for (const connection of this.#connections) bytes += connection.keptBytes
    return bytes
  }

  /** Runs every SWEEP_MS. */
  sweep(): void {
    this.sweeps += 1
    for (const connection of this.#connections) connection.sweep()
  }

  /** Ends every connection as soon as what was read from it is answered. Resolves when all have ended. */
  leave(): Promise<void> {
    clearInterval(this.#timer)
    for (const connection of this.#connections) connection.leave()
    if (this.#connections.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onAllGone = resolve
    })
  }

  destroy(): void {
    for (const connection of this.#connections) connection.destroy()
  }
}
