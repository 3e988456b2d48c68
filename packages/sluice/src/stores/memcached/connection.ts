// One connection to a server, from its opening to its end. Commands are sent in the order in which they came, without waiting for
// the answers to earlier ones. Answers come in the same order.
// Invariants: a command is sent once. When the connection has ended, each of its commands is settled. An answer is given to the
// command whose number it repeats, or the connection ends.

import { nextTick } from 'node:process'
import type { TimerClock } from '../../core/clock.ts'
import { atEndOfTurn } from '../../engines/end-of-turn.ts'
import { messageOf, type StoreErrorKind, storeError } from '../../engines/store-errors.ts'
import type { Command } from './meta-commands.ts'
import { type Reply, ReplyReader } from './reply-reader.ts'
import { type Pending, SentCommands } from './sent-commands.ts'
import { serverErrorKind } from './server-errors.ts'

/** The part of a socket that a connection uses. */
export interface ConnectionSocket {
  write(text: string, encoding: 'latin1'): unknown
  destroy(): unknown
  ref(): unknown
  unref(): unknown
  on(event: 'data', listener: (piece: Buffer) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect' | 'secureConnect' | 'end' | 'close', listener: () => void): unknown
  /** Number of bytes that were written and have not left the process. */
  readonly writableLength: number
}

/** A text to send, and the code of the reply that it must get. */
export interface Greeting {
  readonly text: string
  readonly code: string
}

/** The reason for the end of a connection. `kind` is the kind of error of a command that was not sent. */
export interface EndReason {
  readonly kind: StoreErrorKind
  readonly reason: string
  /** True if the server did not answer in time. */
  readonly isSilent?: boolean
}

export interface End extends EndReason {
  /** True if the server has answered a command, and was not silent. */
  readonly wasUseful: boolean
}

export interface ConnectionOptions {
  /** Name of the server, for errors. */
  readonly server: string
  openSocket(): ConnectionSocket
  /** The event of the socket at which it can be written. */
  readonly openEvent: 'connect' | 'secureConnect'
  /** Sent one after another, before all commands. */
  readonly greetings: readonly Greeting[]
  readonly clock: TimerClock
  readonly connectTimeoutMs: number
  readonly timeoutMs: number
  readonly maxValueBytes: number
  readonly maxCommands: number
  readonly maxQueuedBytes: number
  onEnd(end: End): void
}

/** Numbers of commands start again after this one. */
const HIGHEST_OPAQUE = 999_999_999

export class Connection {
  readonly #options: ConnectionOptions
  readonly #socket: ConnectionSocket
  readonly #reader: ReplyReader
  /**
   * - `greeting`: the socket opens, or greetings are under way. Commands wait.
   * - `open`: commands are sent.
   * - `ended`: the connection takes no commands.
   */
  #stage: 'greeting' | 'open' | 'ended' = 'greeting'
  #greeted = 0
  /** Commands that are not sent yet, and their text. */
  #waiting: Pending[] = []
  #text = ''
  #isFlushing = false
  readonly #sent = new SentCommands()
  #lastOpaque = 0
  #hasAnswered = false
  #cancelTimer: (() => void) | undefined

  constructor(options: ConnectionOptions) {
    const { clock, connectTimeoutMs, openEvent } = options
    this.#options = options
    this.#reader = new ReplyReader(options.maxValueBytes, (reply) => this.#onReply(reply))
    this.#socket = options.openSocket()
    const isLate = (): void => this.end({ kind: 'refused', reason: `no connection within ${connectTimeoutMs} ms` })
    this.#cancelTimer = clock.after(connectTimeoutMs, isLate)
    this.#socket.on(openEvent, () => this.#greet())
    this.#socket.on('data', (piece) => this.#onData(piece))
    this.#socket.on('error', (error) => this.end({ kind: 'refused', reason: messageOf(error) }))
    this.#socket.on('end', () => this.end(CLOSED_BY_SERVER))
    this.#socket.on('close', () => this.end(CLOSED_BY_SERVER))
  }

  get isOpen(): boolean {
    return this.#stage === 'open'
  }

  /** Sends a command at the end of this turn's microtasks, together with others. Resolves to its answer. */
  ask<T>(command: Command<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const opaque = this.#lastOpaque === HIGHEST_OPAQUE ? 1 : this.#lastOpaque + 1
      const text = command.text(opaque)
      const refusal = this.#refusalOf(text)
      if (refusal !== undefined) return reject(storeError('refused', `${this.#options.server}: ${refusal}`))
      this.#lastOpaque = opaque
      this.#waiting.push({ command, opaque, resolve, reject } as Pending)
      this.#text += text
      if (this.#stage === 'open') this.#flushSoon()
      else this.#socket.ref()
    })
  }

  /** Ends the connection. Commands that wait or have no answer fail. */
  end(end: EndReason): void {
    if (this.#stage === 'ended') return
    this.#stage = 'ended'
    this.#cancelTimer?.()
    this.#socket.destroy()
    const { server } = this.#options
    const sent = this.#sent.removeAll()
    const waiting = this.#waiting
    this.#waiting = []
    this.#text = ''
    this.#options.onEnd({ ...end, wasUseful: this.#hasAnswered && end.isSilent !== true })
    for (const { command, reject } of sent) {
      const kind = command.isWrite ? 'unknown' : 'refused'
      reject(storeError(kind, `${server}: the connection ended before the answer came: ${end.reason}`))
    }
    for (const { reject } of waiting) reject(storeError(end.kind, `${server}: ${end.reason}`))
  }

  /** Returns the reason why a command cannot be queued; undefined if it can. */
  #refusalOf(text: string): string | undefined {
    const { maxCommands, maxQueuedBytes } = this.#options
    if (this.#stage === 'ended') return 'the connection has ended'
    if (this.#sent.size + this.#waiting.length >= maxCommands) return `${maxCommands} commands wait already`
    const bytes = this.#text.length + this.#socket.writableLength + text.length
    return bytes > maxQueuedBytes ? `more than ${maxQueuedBytes} bytes would wait` : undefined
  }

  #greet(): void {
    const { greetings } = this.#options
    if (this.#greeted < greetings.length) this.#socket.write(greetings[this.#greeted].text, 'latin1')
    else this.#open()
  }

  #open(): void {
    this.#stage = 'open'
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    if (this.#waiting.length > 0) this.#flush()
    else this.#socket.unref()
  }

  #flushSoon(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    nextTick(() => this.#flush())
  }

  /** Sends all commands that wait. */
  #flush(): void {
    this.#isFlushing = false
    if (this.#waiting.length === 0) return
    // An idle connection does not keep the process alive.
    if (this.#sent.size === 0) this.#socket.ref()
    this.#sent.add(this.#waiting)
    const text = this.#text
    this.#waiting = []
    this.#text = ''
    this.#watch()
    this.#socket.write(text, 'latin1')
  }

  /** Ends the connection if the newest command that is under way now has no answer when the time is over. */
  #watch(): void {
    if (this.#cancelTimer !== undefined) return
    const { clock, timeoutMs } = this.#options
    const newest = this.#sent.last
    this.#cancelTimer = clock.after(timeoutMs, () => {
      const { first } = this.#sent
      // If this process was busy, answers may be here that it has not read yet. They are read before the end of the turn.
      atEndOfTurn(() => {
        if (this.#stage === 'ended') return
        this.#cancelTimer = undefined
        const isSilent = this.#sent.has(newest) && this.#sent.first === first
        if (isSilent) this.end({ kind: 'refused', reason: `no answer within ${timeoutMs} ms`, isSilent })
        else if (this.#sent.size > 0) this.#watch()
      })
    })
  }

  #onData(piece: Buffer): void {
    if (this.#stage === 'ended') return
    try {
      this.#reader.push(piece)
    } catch (error) {
      this.end({ kind: 'refused', reason: messageOf(error) })
    }
  }

  #onReply(reply: Reply): void {
    if (this.#stage === 'ended') return
    if (this.#stage === 'greeting') this.#onGreetingReply(reply)
    else this.#onAnswer(reply)
  }

  #onGreetingReply(reply: Reply): void {
    const greeting = this.#options.greetings[this.#greeted]
    if (reply.kind === 'error') {
      this.end({ kind: serverErrorKind(reply.text, true), reason: reply.text })
    } else if (reply.kind === 'status' && reply.code === greeting.code) {
      this.#greeted += 1
      this.#greet()
    } else throw new Error('the server answered to a greeting with another reply')
  }

  #onAnswer(reply: Reply): void {
    const pending = this.#sent.first
    if (pending === undefined) throw new Error('the server sent an answer that nobody asked for')
    if (reply.kind === 'error') return this.#onError(pending, reply.text)
    // Answers to reads of missing items may repeat no number.
    const isMiss = reply.kind === 'status' && reply.code === 'EN' && reply.opaque === undefined
    if (!isMiss && reply.opaque !== pending.opaque) throw new Error('an answer belongs to another command')
    const answer = pending.command.read(reply)
    if (answer === undefined) throw new Error('the server sent an answer to another kind of command')
    this.#remove()
    pending.resolve(answer[0] as never)
  }

  #onError(pending: Pending, text: string): void {
    const { server } = this.#options
    this.#remove()
    pending.reject(storeError(serverErrorKind(text, !pending.command.isWrite), `${server} answered: ${text}`))
    // After any other error, the server may read the value of a refused command as the next command.
    if (!text.startsWith('SERVER_ERROR ')) this.end({ kind: 'refused', reason: `it answered: ${text}` })
  }

  /** Removes the first command that was sent. */
  #remove(): void {
    this.#sent.removeFirst()
    this.#hasAnswered = true
    if (this.#sent.size === 0 && this.#waiting.length === 0) this.#socket.unref()
  }
}

const CLOSED_BY_SERVER: EndReason = { kind: 'refused', reason: 'the server closed the connection' }
