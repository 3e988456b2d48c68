// An HTTP client of one instance with kept connections. It behaves as a load balancer: after `Connection: close` it uses
// neither the connection nor the instance until the instance is started again.

import { Agent, request } from 'node:http'

/**
 * @typedef {object} Answer
 * @property {number} status 0 if there was no answer
 * @property {import('node:http').IncomingHttpHeaders} headers
 * @property {any} body parsed if it is JSON, otherwise text
 * @property {string} error code of the error if there was no answer
 * @property {number} fromMs time of sending, since the epoch
 * @property {number} toMs time of the answer, since the epoch
 * @property {number} tookMs
 * @property {Asker} asker
 */

/** @typedef {{ key: string, body?: unknown, headers?: Record<string, string> }} Ask */

const MOST_CONNECTIONS = 32
const ANSWERS_WITHIN_MS = 10_000

export class Asker {
  /** True while the instance accepts requests. */
  isOpen = true
  /** True once the process was killed. Its open requests get no answer. */
  isKilled = false
  #agent = new Agent({ keepAlive: true, maxSockets: MOST_CONNECTIONS })

  /**
   * @param {string} name of the instance
   * @param {string} url
   */
  constructor(name, url) {
    this.name = name
    const { hostname, port } = new URL(url)
    this.host = hostname
    this.port = Number(port)
  }

  /**
   * Never rejects.
   * @param {string} method
   * @param {string} path
   * @param {Ask} ask
   * @returns {Promise<Answer>}
   */
  ask(method, path, { key, body, headers = {} }) {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const fromMs = Date.now()
    const startMs = performance.now()
    return new Promise((resolve) => {
      const settle = (/** @type {Pick<Answer, 'status' | 'headers' | 'body' | 'error'>} */ answer) => {
        resolve({ ...answer, fromMs, toMs: Date.now(), tookMs: performance.now() - startMs, asker: this })
      }
      const fail = (/** @type {NodeJS.ErrnoException} */ error) =>
        settle({ status: 0, headers: {}, body: undefined, error: error.code ?? error.message })
      const sent = request(
        {
          ...{ method, path, host: this.host, port: this.port, agent: this.#agent, timeout: ANSWERS_WITHIN_MS },
          headers: { 'api-key': key, ...contentHeaders(text), ...headers },
        },
        (response) => {
          let received = ''
          response.setEncoding('utf8')
          response.on('data', (part) => {
            received += part
          })
          response.on('error', fail)
          response.on('end', () => {
            if (response.headers.connection === 'close') this.isOpen = false
            const isJson = response.headers['content-type']?.startsWith('application/json') ?? false
            const body = isJson ? JSON.parse(received) : received
            settle({ status: response.statusCode ?? 0, headers: response.headers, body, error: '' })
          })
        },
      )
      sent.on('timeout', () => sent.destroy(new Error(`no answer within ${ANSWERS_WITHIN_MS} ms`)))
      sent.on('error', fail)
      sent.end(text)
    })
  }

  close() {
    this.isOpen = false
    this.#agent.destroy()
  }
}

/**
 * @param {string | undefined} text
 * @returns {Record<string, string | number>}
 */
function contentHeaders(text) {
  if (text === undefined) return {}
  return { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
}
