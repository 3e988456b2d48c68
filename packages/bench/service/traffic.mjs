// Sends requests over kept connections, one at a time on each, and counts the decisions.

import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** Number of different requests, built before the measurement starts. */
const REQUESTS = 500

/** @typedef {{ warmUpMs: number, timedMs: number }} Timing */

/**
 * `checks` is the number of checks of a request: 1 is `POST /v1/check`, more is a batch.
 * @typedef {{ port: number, key: string, connections: number, checks: number } & Timing} Traffic
 */

/**
 * @param {Traffic} traffic
 * @returns {Promise<{ decisionsPerSecond: number, answer: string }>} the rate, and one whole answer
 */
export async function ask({ port, key, connections, checks, warmUpMs, timedMs }) {
  const requests = Array.from({ length: checks === 1 ? REQUESTS : REQUESTS / 10 }, (_, i) => requestBytes(key, checks, i))
  let answers = 0
  let sent = 0
  let answer = ''
  /** @type {Error | undefined} */
  let failure
  const sockets = Array.from({ length: connections }, () => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const next = () => socket.write(requests[sent++ % requests.length])
    /** Remaining bytes of the current answer. 0 before its head. */
    let missing = 0
    socket.on('connect', next)
    socket.on('error', (error) => {
      failure ??= error
    })
    socket.on('data', (chunk) => {
      if (missing === 0) {
        const end = chunk.indexOf('\r\n\r\n')
        const head = chunk.toString('latin1', 0, end)
        if (!head.startsWith('HTTP/1.1 200')) failure ??= new Error(`answered ${chunk}`)
        if (answer === '') answer = chunk.toString('latin1')
        missing = end + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1])
      }
      missing -= chunk.length
      if (missing > 0) return
      missing = 0
      answers += 1
      next()
    })
    return socket
  })
  await pause(warmUpMs)
  const startAnswers = answers
  const startMs = performance.now()
  await pause(timedMs)
  const decided = (answers - startAnswers) * checks
  const tookMs = performance.now() - startMs
  for (const socket of sockets) socket.destroy()
  if (failure !== undefined) throw failure
  return { decisionsPerSecond: (decided / tookMs) * 1000, answer }
}

/**
 * @param {string} key
 * @param {number} checks
 * @param {number} request
 */
function requestBytes(key, checks, request) {
  const list = Array.from({ length: checks }, (_, i) => ({ client_id: `client-${request}-${i}`, route: '/v1/orders' }))
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
