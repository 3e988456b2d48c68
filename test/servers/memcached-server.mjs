// Real memcached servers for tests and benches: on loopback, on free ports or sockets in temporary folders, stopped by their process
// ids.

import { once } from 'node:events'
import { connect } from 'node:net'
import { freePort, until } from './redis-server.mjs'
import { ServerProcess } from './server-process.mjs'

/** Memcached refuses to run as root without a user. */
const USER = process.getuid?.() === 0 ? ['-u', 'root'] : []

/** One server. After `kill`, `start` uses the same address, with empty memory. */
export class MemcachedServer extends ServerProcess {
  /**
   * @param {number} port
   * @param {readonly string[]} args
   */
  constructor(port, args) {
    super('memcached')
    this.port = port
    this.args = args
  }

  get address() {
    return `127.0.0.1:${this.port}`
  }

  async start() {
    // Port 0 takes a free one. A socket file needs none.
    if (this.port === 0) this.port = await freePort()
    const where = this.args.includes('-s') ? [] : ['-l', '127.0.0.1', '-p', String(this.port), '-U', '0']
    const child = this.launch('memcached', [...where, ...USER, ...this.args])
    await until(`memcached on port ${this.port}`, async () => {
      if (child.exitCode !== null || child.pid === undefined) throw new Error('memcached did not start')
      return this.#listens()
    })
  }

  /** True if a connection opens. Not every server answers a plain command: some want a password or TLS first. */
  #listens() {
    const path = this.args[this.args.indexOf('-s') + 1]
    const socket = this.args.includes('-s') ? connect(path) : connect(this.port, '127.0.0.1')
    return once(socket, 'connect')
      .then(
        () => true,
        () => false,
      )
      .finally(() => socket.destroy())
  }

  /**
   * Sends one line on a connection of its own. Returns the answer without its last line end.
   * @param {string} line
   * @param {RegExp} end matches a whole answer
   * @returns {Promise<string>}
   */
  ask(line, end = /\r\n$/) {
    return new Promise((resolve, reject) => {
      const socket = connect(this.port, '127.0.0.1', () => socket.write(`${line}\r\n`, 'latin1'))
      let answer = ''
      socket.setEncoding('latin1')
      socket.on('error', reject)
      socket.on('close', () => reject(new Error(`memcached closed the connection after ${JSON.stringify(answer)}`)))
      socket.on('data', (text) => {
        answer += text
        if (!end.test(answer)) return
        resolve(answer.trimEnd())
        socket.destroy()
      })
    })
  }

  /** @returns {Promise<Record<string, string>>} the server's counters */
  async stats() {
    const lines = (await this.ask('stats', /END\r\n$/)).split('\r\n')
    return Object.fromEntries(lines.map((line) => line.split(' ').slice(1)))
  }

  /**
   * Returns the names of items that begin with `start` and have no expiry.
   * @param {string} start
   */
  async namesWithoutExpiry(start) {
    const items = await this.items()
    return items.filter(({ key, expiresAt }) => key.startsWith(start) && expiresAt <= 0).map(({ key }) => key)
  }

  /** @returns {Promise<{ key: string, expiresAt: number }[]>} all items; `expiresAt` is in seconds, and -1 for ever */
  async items() {
    const dump = await this.ask('lru_crawler metadump all', /END\r\n$|^(?:BUSY|ERROR).*\r\n$/)
    return [...dump.matchAll(/^key=(\S+) exp=(-?\d+)/gm)].map(([, key, expiresAt]) => ({
      key: decodeURIComponent(key),
      expiresAt: Number(expiresAt),
    }))
  }
}

/** @param {readonly string[]} args */
export async function startMemcached(...args) {
  const server = new MemcachedServer(await freePort(), args)
  await server.start()
  return server
}
