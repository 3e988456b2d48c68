// A TCP proxy that does to connections what networks do: delays, loses, cuts, refuses. Bytes keep their order.

import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/**
 * What happens to bytes on their way. `upDelayMs` and `downDelayMs`: they arrive so much later, and up to `jitterMs` more.
 * `loseUp`, `loseDown`: they never arrive, and the connection stays. `cutDownAfter`: each connection is cut after so many
 * bytes of answers, counted from when the weather changed; with `cutOnce`, only the first. `refuse`: new connections are reset.
 * @typedef {{ upDelayMs?: number, downDelayMs?: number, jitterMs?: number, loseUp?: boolean, loseDown?: boolean, cutDownAfter?: number, cutOnce?: boolean, refuse?: boolean }} Weather
 */

/** Listens on a free port of 127.0.0.1 and passes everything on to `targetPort`, as the weather permits. */
export class TcpProxy {
  /** @type {Weather} */
  #weather = {}
  #weatherChanges = 0
  #port = 0

  /** @param {number} targetPort where new connections lead */
  constructor(targetPort) {
    this.targetPort = targetPort
    /** @type {Set<import('node:net').Socket>} */
    this.sockets = new Set()
    this.server = createServer((client) => this.#join(client))
  }

  get port() {
    return this.#port
  }

  get weather() {
    return this.#weather
  }

  set weather(weather) {
    this.#weather = weather
    this.#weatherChanges += 1
  }

  /** Listens: at first on a free port, later again on the same. */
  async start() {
    this.server.listen(this.#port, '127.0.0.1')
    await once(this.server, 'listening')
    this.#port = /** @type {import('node:net').AddressInfo} */ (this.server.address()).port
  }

  /** Resets every connection there is. */
  reset() {
    for (const socket of this.sockets) socket.resetAndDestroy()
    this.sockets.clear()
  }

  /** Resets every connection and refuses new ones, as if nobody had ever listened here. */
  async stop() {
    this.reset()
    this.server.close()
    await once(this.server, 'close')
  }

  /** @param {import('node:net').Socket} client */
  #join(client) {
    if (this.weather.refuse) {
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
      const { loseUp, upDelayMs, jitterMs } = this.weather
      if (!loseUp) sendUp(bytes, delay(upDelayMs, jitterMs))
    })
    let answered = 0
    let countedSince = this.#weatherChanges
    upstream.on('data', (bytes) => {
      const { loseDown, downDelayMs, jitterMs, cutDownAfter, cutOnce } = this.weather
      if (loseDown) return
      if (countedSince !== this.#weatherChanges) answered = 0
      countedSince = this.#weatherChanges
      const left = cutDownAfter === undefined ? bytes.length : Math.max(0, cutDownAfter - answered)
      answered += bytes.length
      sendDown(bytes.subarray(0, left), delay(downDelayMs, jitterMs))
      if (left < bytes.length) {
        // After what was written has left: a reset would take it along.
        client.end(() => client.destroy())
        upstream.destroy()
        if (cutOnce) this.weather = {}
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
 * Writes each piece after its delay, but never before one that was sent earlier.
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
    // Whichever timer comes first writes what was sent first.
    setTimeout(() => write(/** @type {Buffer} */ (waiting.shift())), lastMs - performance.now())
  }
}
