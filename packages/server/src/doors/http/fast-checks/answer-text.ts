// The text of a response on a connection that stays open.
// Invariant: these are the bytes that node:http writes for the same status, headers and body.

import { STATUS_CODES } from 'node:http'
import { KEEP_ALIVE_MS } from '../http-server.ts'

const KEPT = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(KEEP_ALIVE_MS / 1000)}\r\n\r\n`

export class AnswerTexts {
  /** The second whose date is in `#end`. */
  #second = 0
  /** The last lines of every head. */
  #end = ''

  textOf(status: number, headers: Readonly<Record<string, string | number>>, body: string): string {
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
    for (const name of Object.keys(headers)) text += `${name}: ${headers[name]}\r\n`
    return text + this.#endOf(Date.now()) + body
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
