// Sends requests over kept connections, one at a time on each, and counts the decisions.

import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** @import { Server } from './servers.mjs' */

/** Number of different requests, built before the measurement starts. */
const REQUESTS = 500

/** @typedef {{ warmUpMs: number, timedMs: number }} Timing */

/**
 * `checks` is the number of checks of a request: 1 is `POST /v1/check`, more is a batch. With `orgs`, checks have an attribute with so many
 * values.
 * @typedef {Pick<Server, 'port' | 'key' | 'cpuMicros'> & { connections: number, checks: number, orgs?: number } & Timing} Traffic
 */

/**
 * @param {Traffic} traffic
 * @returns {Promise<{ decisionsPerSecond: number, cpuMicrosADecision: number, answer: string }>} the rate, the CPU time of the server, and one whole answer
 */
export async function ask({ port, key, cpuMicros, connections, checks, orgs, warmUpMs, timedMs }) {
  const requests = Array.from({ length: checks === 1 ? REQUESTS : REQUESTS / 10 }, (_, i) => requestBytes(key, checks, i, orgs))
  let answers = 0
  let sent = 0
  let answer = ''
  /** @type {Error | undefined} */
  let failure
  const sockets = Array.from({ length: connections }, () => {
    /** Remaining bytes of the current answer. 0 before its head. */
    let missing = 0
    /** Length of the last answer that came in one piece. */
    let usual = 0
    /** @param {Buffer} chunk */
    const receive = (chunk) => {
      if (chunk.length !== usual || missing > 0 || !isSuccess(chunk)) {
        if (missing === 0) {
          const end = chunk.indexOf('\r\n\r\n')
          const head = chunk.toString('latin1', 0, end)
          if (!isSuccess(chunk)) failure ??= new Error(`answered ${chunk}`)
          if (answer === '') answer = chunk.toString('latin1')
          missing = end + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1])
          usual = missing
        }
        missing -= chunk.length
        if (missing > 0) return
        missing = 0
      }
      answers += 1
      next()
    }
    // A buffer that is used again takes the load generator half the time of a stream, so the server is the slower side.
    const onread = {
      buffer: Buffer.allocUnsafe(64 * 1024),
      /**
       * @param {number} count
       * @param {Uint8Array} buffer
       */
      callback: (count, buffer) => {
        receive(/** @type {Buffer} */ (buffer).subarray(0, count))
        return true
      },
    }
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread })
    const next = () => socket.write(requests[sent++ % requests.length])
    socket.on('connect', next)
    socket.on('error', (error) => {
      failure ??= error
    })
    return socket
  })
  await pause(warmUpMs)
  const startMicros = await cpuMicros()
  const startAnswers = answers
  const startMs = performance.now()
  await pause(timedMs)
  const decided = (answers - startAnswers) * checks
  const tookMs = performance.now() - startMs
  const usedMicros = (await cpuMicros()) - startMicros
  for (const socket of sockets) socket.destroy()
  if (failure !== undefined) throw failure
  return { decisionsPerSecond: (decided / tookMs) * 1000, cpuMicrosADecision: usedMicros / decided, answer }
}

/**
 * True for `HTTP/1.1 200`.
 * @param {Buffer} chunk
 */
function isSuccess(chunk) {
  return chunk[9] === 0x32 && chunk[10] === 0x30 && chunk[11] === 0x30
}

/**
 * @param {string} key
 * @param {number} checks
 * @param {number} request
 * @param {number | undefined} orgs
 */
function requestBytes(key, checks, request, orgs) {
  const facts = orgs === undefined ? {} : { attributes: { org: `org-${request % orgs}` } }
  const list = Array.from({ length: checks }, (_, i) => ({ client_id: `client-${request}-${i}`, route: '/v1/orders', ...facts }))
  const body = JSON.stringify(checks === 1 ? list[0] : { checks: list })
  const head = [
    `POST ${checks === 1 ? '/v1/check' : '/v1/check/batch'} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Api-Key: ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}
