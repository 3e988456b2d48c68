// One connection whose requests are read straight from the socket, until a byte comes that only node:http understands.
//
// | state   | socket | next                                                                                            |
// | ------- | ------ | ----------------------------------------------------------------------------------------------- |
// | reading | flows  | `full`, if too many answers are due or the client does not read them; `leaving`, at a foreign byte |
// | full    | paused | `reading`, as soon as answers were sent                                                         |
// | leaving | keeps its input | `gone`, as soon as all due answers were sent                                                    |
// | gone    |        | node:http has the socket, or the connection has ended                                           |
//
// Invariant: answers are sent in the order of their requests. A byte is part of an answered check, or node:http gets it.

import type { Socket } from 'node:net'
import { fixedBufferSocket } from '../../fixed-buffer-socket.ts'
import type { CheckInput } from '../check-door.ts'
import { FOREIGN, INCOMPLETE } from './check-head.ts'
import { DueAnswer } from './due-answer.ts'
import type { FastChecks } from './fast-checks.ts'

/** Maximum number of checks of one connection that wait for their answers. */
export const MOST_DUE = 128

/** Maximum number of pieces in which a request may arrive. Each piece is read from the start of the request again. */
export const MOST_PIECES = 16

/** Sweeps after which an incomplete request goes to node:http, which has the time limits. */
const INCOMPLETE_SWEEPS = 1

const NOTHING = Buffer.alloc(0)

export class FastConnection {
  readonly #checks: FastChecks
  readonly #socket: Socket
  readonly #hasFixedBuffer: boolean
  #state: 'reading' | 'full' | 'leaving' | 'gone' = 'reading'
  /** Bytes that are not part of a decided check. */
  #rest: Buffer = NOTHING
  #pieces = 0
  /** One entry for each decided check, in their order. */
  #due: DueAnswer[] = []
  #isFlushScheduled = false
  /** True from the first due answer until all answers are written. */
  #isOpen = false
  #hasEnded = false
  /** True before the first answer. */
  #isNew = true
  /** The sweep after which the connection became idle, or the incomplete request began. */
  #sinceSweep: number

  constructor(checks: FastChecks, accepted: Socket) {
    const quick = fixedBufferSocket(accepted, { buffer: checks.input, callback: this.#onInput })
    const socket = quick ?? accepted.on('data', this.#onData)
    this.#hasFixedBuffer = quick !== undefined
    this.#checks = checks
    this.#socket = socket
    this.#sinceSweep = checks.sweeps
    socket.on('end', this.#onEnd)
    socket.on('drain', this.#onDrain)
    socket.on('error', ignore)
    socket.on('close', this.#onClose)
  }

  /** True between two requests. */
  get isIdle(): boolean {
    return !this.#isNew && !this.#isOpen && this.#rest.length === 0
  }

  /** Bounds the time for a request and the time between two requests. */
  sweep(keepAliveSweeps: number): void {
    if (this.#isOpen || this.#state === 'gone') return
    const age = this.#checks.sweeps - this.#sinceSweep
    if (this.isIdle) {
      if (age > keepAliveSweeps) this.#socket.destroy()
    } else if (age > INCOMPLETE_SWEEPS) {
      this.#leave()
      this.#proceed()
    }
  }

  /** Passes an incomplete request on to node:http. */
  stop(): void {
    if (this.#rest.length === 0) return
    this.#leave()
    this.#proceed()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Takes input. Returns false if the socket shall not read more for now. */
  readonly #onInput = (count: number): boolean => {
    const { input } = this.#checks
    // Input for node:http goes the way that it takes on any other socket.
    if (this.#state === 'leaving' || this.#state === 'gone') return this.#socket.push(Buffer.from(input.subarray(0, count)))
    this.#take(input, count)
    return true
  }

  readonly #onData = (chunk: Buffer): void => this.#take(chunk, chunk.length)

  /** Takes the bytes of a chunk, which are valid until this returns. */
  #take(chunk: Buffer, length: number): void {
    this.#pieces += 1
    if (this.#rest.length === 0) {
      this.#sinceSweep = this.#checks.sweeps
      this.#takeRequests(chunk, length)
    } else {
      const bytes = Buffer.concat([this.#rest, chunk.subarray(0, length)])
      this.#takeRequests(bytes, bytes.length)
    }
    this.#proceed()
  }

  /** Takes the requests in `bytes`, and keeps the rest. */
  #takeRequests(bytes: Buffer, length: number): void {
    let at = 0
    let next = 0
    while (at < length && !this.#isFull()) {
      next = this.#takeRequest(bytes, at, length)
      if (next < 0) break
      at = next
    }
    if (at === length) this.#rest = NOTHING
    else if (bytes === this.#checks.input) this.#rest = Buffer.from(bytes.subarray(at, length))
    else this.#rest = bytes.subarray(at, length)
    if (next === FOREIGN || (next === INCOMPLETE && this.#pieces >= MOST_PIECES)) this.#leave()
    else if (next >= 0 && at < length) {
      this.#state = 'full'
      this.#socket.pause()
    }
  }

  #isFull(): boolean {
    return this.#due.length >= MOST_DUE || this.#socket.writableNeedDrain
  }

  /** Decides the check that begins at `start`. Returns the index after it; or INCOMPLETE, or FOREIGN. */
  #takeRequest(bytes: Buffer, start: number, length: number): number {
    const { head, door, authentication, isStopped } = this.#checks
    if (isStopped) return FOREIGN
    const bodyStart = head.read(bytes, start, length)
    if (bodyStart < 0) return bodyStart
    if (head.contentLength > door.mostBytes || !authentication.admits(head, 'check')) return FOREIGN
    const end = bodyStart + head.contentLength
    if (end > length) return INCOMPLETE
    let check: CheckInput
    try {
      check = door.read(bytes.subarray(bodyStart, end))
    } catch {
      return FOREIGN
    }
    this.#pieces = 0
    this.#open()
    const due = new DueAnswer(this.#checks.texts, this.#scheduleFlush)
    this.#due.push(due)
    door.decide(check, due)
    return end
  }

  /** Sends the answers that are known, after the current callback. So all answers of a turn are one write. */
  readonly #scheduleFlush = (): void => {
    if (this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    this.#checks.flushes.add(this)
  }

  /** Writes the answers that are known. */
  flush(): void {
    this.#isFlushScheduled = false
    let count = 0
    let text = ''
    let isAscii = true
    for (; count < this.#due.length; count++) {
      const due = this.#due[count]
      if (due.text === undefined) break
      text += due.text
      isAscii &&= due.isAscii
    }
    if (count === 0 || !this.#socket.writable) return
    if (count === this.#due.length) this.#due = []
    else this.#due.splice(0, count)
    this.#isNew = false
    this.#socket.write(text, isAscii ? 'latin1' : 'utf8')
    this.#closeIfWritten()
    this.#proceed()
  }

  /** Does what the state waits for, if it is possible now. */
  #proceed(): void {
    if (this.#state === 'full' && !this.#isFull()) {
      this.#state = 'reading'
      this.#takeRequests(this.#rest, this.#rest.length)
      if (this.#state === 'reading') this.#socket.resume()
    }
    if (this.#due.length > 0) return
    if (this.#state === 'leaving') this.#handOver()
    else if (this.#state === 'reading' && this.#hasEnded) this.#end()
  }

  readonly #onDrain = (): void => this.#proceed()

  /** Nearly every write ends at once. A callback for each would take longer than this look. `#onClose` covers a socket that has ended. */
  readonly #closeIfWritten = (): void => {
    if (this.#due.length > 0) return
    if (this.#socket.writableLength === 0) this.#close()
    else if (this.#socket.writable) this.#socket.write('', this.#closeIfWritten)
  }

  #open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#checks.openRequests.begin()
  }

  #close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#sinceSweep = this.#checks.sweeps
    this.#checks.openRequests.end()
  }

  readonly #onEnd = (): void => {
    this.#hasEnded = true
    this.#proceed()
  }

  /** The client sends no more. node:http refuses a request that is cut off. */
  #end(): void {
    if (this.#rest.length > 0) this.#handOver()
    else {
      this.#state = 'gone'
      this.#socket.end()
    }
  }

  readonly #onClose = (): void => {
    this.#state = 'gone'
    this.#checks.connections.delete(this)
    this.#close()
  }

  #leave(): void {
    this.#state = 'leaving'
    // A socket with a fixed buffer would stop reading, and not notice that its client goes away. It has no listener for data yet, so it
    // keeps its input.
    if (!this.#hasFixedBuffer) this.#socket.pause()
  }

  /** Gives the socket to node:http, as if nothing of `#rest` had been read. */
  #handOver(): void {
    const socket = this.#socket
    this.#state = 'gone'
    this.#checks.connections.delete(this)
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('drain', this.#onDrain)
    socket.off('error', ignore)
    if (this.#hasEnded) {
      // A stream that has ended takes no bytes back.
      this.#checks.serve(socket)
      socket.emit('data', this.#rest)
      socket.emit('end')
    } else {
      if (this.#rest.length > 0) socket.unshift(this.#rest)
      this.#checks.serve(socket)
      socket.resume()
    }
    this.#rest = NOTHING
  }
}

/** The close event follows every error. */
function ignore(): void {}
