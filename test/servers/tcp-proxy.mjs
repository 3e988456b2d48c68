// A TCP proxy that simulates network faults: it delays, loses, cuts and refuses. Bytes keep their order.

import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/**
 * Faults of a connection. `upDelayMs` and `downDelayMs` delay bytes, `jitterMs` adds up to that much more. `loseUp` and
 * `loseDown` drop bytes and keep the connection open. `loseUp` may be a function that looks at the bytes, and returns true to drop
 * them. `cutDownAfter` cuts each connection after that many bytes of answers, counted from the last change of the conditions. With
 * `cutOnce` only the first is cut. `refuse` resets new connections.
 * @typedef {{ upDelayMs?: number, downDelayMs?: number, jitterMs?: number, loseUp?: boolean | ((bytes: Buffer) => boolean), loseDown?: boolean, cutDownAfter?: number, cutOnce?: boolean, refuse?: boolean }} NetworkConditions
 */

/** Listens on a free port of 127.0.0.1 and forwards everything to `targetPort`, under the current conditions. */
export class TcpProxy {
  /** @type {NetworkConditions} */
  #conditions = {}
  #conditionsChanges = 0
  #port = 0

  /** @param {number} targetPort port that new connections lead to */
  constructor(targetPort) {
    this.targetPort = targetPort
    /** @type {Set<import('node:net').Socket>} */
    this.sockets = new Set()
    this.server = createServer((client) => this.#join(client))
  }

  get port() {
    return this.#port
  }

  get conditions() {
    return this.#conditions
  }

  set conditions(conditions) {
    this.#conditions = conditions
    this.#conditionsChanges += 1
  }

  /** Listens on a free port, and on the same port after a restart. */
  async start() {
    this.server.listen(this.#port, '127.0.0.1')
    await once(this.server, 'listening')
    this.#port = /** @type {import('node:net').AddressInfo} */ (this.server.address()).port
  }

  /** Resets every open connection. */
  reset() {
    for (const socket of this.sockets) socket.resetAndDestroy()
    this.sockets.clear()
  }

  /** Resets every connection and refuses new ones, as if nothing listened here. */
  async stop() {
    this.reset()
    this.server.close()
    await once(this.server, 'close')
  }

  /** @param {import('node:net').Socket} client */
  #join(client) {
    if (this.conditions.refuse) {
      client.resetAndDestroy()
      return
    }
    const upstream = connect(this.targetPort, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ]) {
      this.sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        this.sockets.delete(from)
        to.destroy()
      })
    }
    const sendUp = inOrder((bytes) => upstream.write(bytes))
    const sendDown = inOrder((bytes) => client.write(bytes))
    client.on('data', (bytes) => {
      const { loseUp, upDelayMs, jitterMs } = this.conditions
      const isLost = typeof loseUp === 'function' ? loseUp(bytes) : loseUp
      if (!isLost) sendUp(bytes, delay(upDelayMs, jitterMs))
    })
    let answered = 0
    let countedSince = this.#conditionsChanges
    upstream.on('data', (bytes) => {
      const { loseDown, downDelayMs, jitterMs, cutDownAfter, cutOnce } = this.conditions
      if (loseDown) return
      if (countedSince !== this.#conditionsChanges) answered = 0
      countedSince = this.#conditionsChanges
      const left = cutDownAfter === undefined ? bytes.length : Math.max(0, cutDownAfter - answered)
      answered += bytes.length
      sendDown(bytes.subarray(0, left), delay(downDelayMs, jitterMs))
      if (left < bytes.length) {
        // Waits until the written bytes have left. A reset would drop them.
        client.end(() => client.destroy())
        upstream.destroy()
        if (cutOnce) this.conditions = {}
      }
    })
  }
}

/** @param {number} targetPort */
export async function startProxy(targetPort) {
  const proxy = new TcpProxy(targetPort)
  await proxy.start()
  return proxy
}

function delay(ms = 0, jitterMs = 0) {
  return ms + Math.random() * jitterMs
}

/**
 * Writes each piece after its delay, but never before an earlier piece.
 * @param {(bytes: Buffer) => void} write
 */
function inOrder(write) {
  /** @type {Buffer[]} */
  const waiting = []
  let lastMs = 0
  return (/** @type {Buffer} */ bytes, /** @type {number} */ delayMs) => {
    if (delayMs === 0 && waiting.length === 0) return write(bytes)
    waiting.push(bytes)
    lastMs = Math.max(lastMs, performance.now() + delayMs)
    // The timer that fires first writes the piece that was sent first.
    setTimeout(() => write(/** @type {Buffer} */ (waiting.shift())), lastMs - performance.now())
  }
}
