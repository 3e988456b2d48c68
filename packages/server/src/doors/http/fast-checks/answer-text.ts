// The text of a response on a connection that stays open.
// Invariant: these are the bytes that node:http writes for the same status, headers and body.

import { STATUS_CODES } from 'node:http'
import { KEEP_ALIVE_MS } from '../http-server.ts'
import { JSON_TYPE } from '../plumbing/envelope.ts'

const KEPT = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(KEEP_ALIVE_MS / 1000)}\r\n\r\n`

const DECIDED = `HTTP/1.1 200 ${STATUS_CODES[200]}\r\n`
const JSON_OF_LENGTH = `content-type: ${JSON_TYPE}\r\ncontent-length: `

export class AnswerTexts {
  /** The second whose date is in `#end`. */
  #second = 0
  /** The last lines of every head. */
  #end = ''

  of(status: number, headers: Readonly<Record<string, string | number>>, body: string): string {
    return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines(headers)}${this.#endOf(Date.now())}${body}`
  }

  /** Status 200, and an ASCII body in JSON. The fewer pieces a text has, the less time it takes to write. */
  ofDecision(fields: Readonly<Record<string, string>>, body: string): string {
    return `${DECIDED}${lines(fields)}${JSON_OF_LENGTH}${body.length}\r\n${this.#endOf(Date.now())}${body}`
  }

  #endOf(nowMs: number): string {
    const second = Math.floor(nowMs / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#end = `Date: ${new Date(nowMs).toUTCString()}\r\n${KEPT}`
    }
    return this.#end
  }
}

function lines(headers: Readonly<Record<string, string | number>>): string {
  let text = ''
  for (const name in headers) text += `${name}: ${headers[name]}\r\n`
  return text
}
