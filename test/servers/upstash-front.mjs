// Upstash's REST API before a real Redis, for tests: POST of one command, `/pipeline` and `/multi-exec`, with the token, statuses and
// encoding of its documentation. It can lose answers as a network does.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { Redis } from 'ioredis'

/** @import { IncomingMessage, ServerResponse } from 'node:http' */

/**
 * The fate of a request. `lost`: it is executed, and the connection is cut before the answer. `cut`: the connection is cut in the
 * middle of the answer. `dropped`: the connection is cut before the command is executed. `silent`: it is executed, and the
 * connection stays open without an answer. `{ status, text }`: it is answered like this, and not executed.
 * @typedef {'lost' | 'cut' | 'dropped' | 'silent' | { status: number, text: string, headers?: Record<string, string> }} Fate
 */

/** @param {number} redisPort */
export async function startUpstashFront(redisPort) {
  const front = new UpstashFront(redisPort)
  await front.start()
  return front
}

export class UpstashFront {
  token = 'test-token-AAIncDE'
  /** Paths of all requests. @type {string[]} */
  requests = []
  /** Fates of the next requests. Undefined means `fate`. @type {(Fate | undefined)[]} */
  fates = []
  /** The fate of all other requests. @type {Fate | undefined} */
  fate
  #port = 0
  #redis
  #server

  /** @param {number} redisPort */
  constructor(redisPort) {
    this.#redis = new Redis(redisPort, '127.0.0.1')
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  get url() {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Listens on a free port, and on the same port after a `stop`. */
  async start() {
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = /** @type {import('node:net').AddressInfo} */ (this.#server.address()).port
  }

  /** Cuts all connections and refuses new ones. */
  async stop() {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  async end() {
    if (this.#server.listening) await this.stop()
    this.#redis.disconnect()
  }

  /**
   * @param {IncomingMessage} request
   * @param {ServerResponse} response
   */
  async #serve(request, response) {
    let body = ''
    for await (const bytes of request) body += bytes
    this.requests.push(request.url ?? '')
    const fate = this.fates.shift() ?? this.fate
    const { socket } = request
    if (fate === 'dropped') return void socket.destroy()
    const { status, text, headers } = typeof fate === 'object' ? fate : await this.#answer(request, body)
    if (fate === 'silent') return
    if (fate === 'lost') return void socket.destroy()
    response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text), ...headers })
    if (fate === 'cut') response.write(text.slice(0, -1), () => socket.destroy())
    else response.end(text)
  }

  /**
   * @param {IncomingMessage} request
   * @param {string} body
   * @returns {Promise<{ status: number, text: string, headers?: Record<string, string> }>}
   */
  async #answer({ headers, url }, body) {
    if (headers.authorization !== `Bearer ${this.token}`) return errorAnswer(401, 'WRONGPASS invalid or missing auth token')
    const isEncoded = headers['upstash-encoding'] === 'base64'
    /** @type {(command: string[]) => Promise<{ result: unknown } | { error: string }>} */
    const run = async ([command, ...args]) => {
      try {
        return { result: inJson(await this.#redis.callBuffer(command, ...args), isEncoded) }
      } catch (error) {
        return { error: /** @type {Error} */ (error).message }
      }
    }
    const parsed = JSON.parse(body)
    if (url === '/pipeline' || url === '/multi-exec') {
      return { status: 200, text: JSON.stringify(await Promise.all(parsed.map(run))) }
    }
    const answer = await run(parsed)
    return 'error' in answer ? errorAnswer(400, answer.error) : { status: 200, text: JSON.stringify(answer) }
  }
}

/**
 * @param {number} status
 * @param {string} error
 */
function errorAnswer(status, error) {
  return { status, text: JSON.stringify({ error }) }
}

/**
 * An answer of Redis as JSON. Texts other than OK are encoded, if the client asks for it.
 * @param {unknown} answer
 * @param {boolean} isEncoded
 * @returns {unknown}
 */
function inJson(answer, isEncoded) {
  if (Array.isArray(answer)) return answer.map((each) => inJson(each, isEncoded))
  if (!Buffer.isBuffer(answer)) return answer
  const text = answer.toString()
  return isEncoded && text !== 'OK' ? answer.toString('base64') : text
}
