// A TCP proxy in front of Postgres that counts what clients ask for. Each message that waits for an answer is one round trip.

import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** Messages after which a client waits: a simple query, or the end of extended ones. */
const WAITS = new Set(['Q', 'S', 'H'])

export class MessageCounter {
  /** Types of the messages that clients sent and waited for, without those that open a connection. @type {string[]} */
  types = []
  /** Texts of simple queries. @type {string[]} */
  texts = []
  /** @type {Set<import('node:net').Socket>} */
  #sockets = new Set()

  /** @param {number} targetPort */
  constructor(targetPort) {
    this.server = createServer((client) => this.#join(client, connect(targetPort, '127.0.0.1')))
  }

  get port() {
    return /** @type {import('node:net').AddressInfo} */ (this.server.address()).port
  }

  async start() {
    this.server.listen(0, '127.0.0.1')
    await once(this.server, 'listening')
  }

  forget() {
    this.types.length = this.texts.length = 0
  }

  async stop() {
    for (const socket of this.#sockets) socket.destroy()
    this.server.close()
    await once(this.server, 'close')
  }

  /**
   * @param {import('node:net').Socket} client
   * @param {import('node:net').Socket} upstream
   */
  #join(client, upstream) {
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ]) {
      this.#sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
    }
    upstream.on('data', (bytes) => client.write(bytes))
    let rest = Buffer.alloc(0)
    let isOpen = false
    client.on('data', (bytes) => {
      upstream.write(bytes)
      rest = Buffer.concat([rest, bytes])
      // The first message has no type.
      const head = () => (isOpen ? 5 : 4)
      const length = () => rest.readInt32BE(head() - 4) + head() - 4
      while (rest.length >= head() && rest.length >= length()) {
        const message = rest.subarray(0, length())
        if (isOpen) this.#count(message)
        rest = rest.subarray(message.length)
        isOpen = true
      }
    })
  }

  /** @param {Buffer} message */
  #count(message) {
    const type = String.fromCharCode(message[0])
    if (!WAITS.has(type)) return
    this.types.push(type)
    if (type === 'Q') this.texts.push(message.toString('utf8', 5, message.length - 1))
  }
}
