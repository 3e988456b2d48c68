// One connection of a client of Redis.
//
// | state   | socket | next                                                                                              |
// | ------- | ------ | ------------------------------------------------------------------------------------------------- |
// | reading | flows  | `full`, if too many replies are due or the client does not read them; `leaving`, at QUIT or a protocol error |
// | full    | paused | `reading`, as soon as replies were sent                                                           |
// | leaving | flows, nothing is kept | `gone`, as soon as all due replies were sent                                      |
// | gone    |        | the connection has ended, or ends as soon as the last bytes are written                           |
//
// Invariant: each command gets one reply, in the order of the commands. Input and output are bounded, see limits.ts.

import type { Socket } from 'node:net'
import { fixedBufferSocket } from '../fixed-buffer-socket.ts'
import type { WriteReply } from './commands/command.ts'
import { DueReplies, type DueReply } from './due-replies.ts'
import {
  IDLE_MS,
  INCOMPLETE_MS,
  LONGEST_COMMAND,
  LONGEST_FIRST_COMMAND,
  MOST_DUE,
  MOST_REPLY_BYTES,
  SWEEP_MS,
  UNAUTHENTICATED_MS,
} from './limits.ts'
import { BROKEN, INCOMPLETE } from './protocol/request-parser.ts'
import type { RespServer } from './resp-server.ts'
import { Session } from './session.ts'

const NOTHING = Buffer.alloc(0)

export class Connection {
  readonly #server: RespServer
  readonly #socket: Socket
  readonly #session: Session
  readonly #due = new DueReplies()
  #state: 'reading' | 'full' | 'leaving' | 'gone' = 'reading'
  /** Bytes from the start of the first command that has not run. */
  #rest: Buffer = NOTHING
  /** Bytes that follow `#rest`, and their number. */
  #pieces: Buffer[] = []
  #piecesLength = 0
  /** Length that `#rest` and the pieces must have before it is worth reading them. */
  #neededLength = 0
  /** Replies that are known and not sent, before all due ones. One character is one byte. */
  #unsent = ''
  #isFlushScheduled = false
  #hasEnded = false
  /** True if the connection ends as soon as the commands in `#rest` have run. */
  #leavesAfterRest = false
  /** The sweep after which the connection became idle, or the incomplete command began. */
  #sinceSweep: number
  /** Consecutive sweeps in which the session had no key. Commands that need none do not make this time longer. */
  #sweepsWithoutKey = 0

  constructor(server: RespServer, accepted: Socket, id: number) {
    const quick = fixedBufferSocket(accepted, { buffer: server.input, callback: this.#onInput })
    const socket = quick ?? accepted.on('data', this.#onData)
    this.#server = server
    this.#socket = socket
    this.#session = new Session(server.service, id, server.addressOf(socket))
    this.#sinceSweep = server.sweeps
    socket.setNoDelay(true)
    // Node would end our side together with the client's, before the replies that are not sent yet.
    socket.allowHalfOpen = true
    socket.on('end', this.#onEnd)
    socket.on('drain', this.#onDrain)
    socket.on('error', ignore)
    socket.on('close', this.#onClose)
  }

  /** Bytes that were read and have not run, and bytes of replies that are not sent. */
  get keptBytes(): number {
    return this.#rest.length + this.#piecesLength + this.#unsent.length + this.#due.bytes
  }

  /** Bounds the time of a command, the time between two commands, and the time without a key. */
  sweep(): void {
    this.#sweepsWithoutKey = this.#session.key === undefined ? this.#sweepsWithoutKey + 1 : 0
    if (this.#sweepsWithoutKey * SWEEP_MS > UNAUTHENTICATED_MS) this.#socket.destroy()
    // A client that waits for the store is not late. One that does not read its replies is.
    if (this.#due.count > 0) return
    const ageMs = (this.#server.sweeps - this.#sinceSweep) * SWEEP_MS
    if (ageMs > this.#patienceMs()) this.#socket.destroy()
  }

  #patienceMs(): number {
    return this.#rest.length > 0 || this.#state !== 'reading' ? INCOMPLETE_MS : IDLE_MS
  }

  /** Ends the connection as soon as what was read is answered. */
  leave(): void {
    if (this.#state === 'gone') return
    if (this.#state === 'full') this.#leavesAfterRest = true
    else this.#state = 'leaving'
    this.#proceed()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  readonly #onInput = (count: number): boolean => {
    this.#take(this.#server.input, count)
    return true
  }

  readonly #onData = (chunk: Buffer): void => this.#take(chunk, chunk.length)

  /** Takes the bytes of a chunk, which are valid until this returns. */
  #take(chunk: Buffer, length: number): void {
    // Nothing is run any more. The bytes are read nevertheless, because unread ones would make the system drop the last replies.
    if (this.#state === 'leaving' || this.#state === 'gone') return
    if (this.#rest.length === 0) {
      this.#sinceSweep = this.#server.sweeps
      this.#runCommands(chunk, length)
    } else {
      if (!this.#join(Buffer.from(chunk.subarray(0, length)))) return
      this.#runCommands(this.#rest, this.#rest.length)
    }
    this.#proceed()
  }

  /** Adds bytes to an incomplete command. Returns false if it is certainly still incomplete. Then the pieces are joined later, once. */
  #join(piece: Buffer): boolean {
    this.#pieces.push(piece)
    this.#piecesLength += piece.length
    if (this.#rest.length + this.#piecesLength < this.#neededLength) return false
    this.#rest = Buffer.concat([this.#rest, ...this.#pieces])
    this.#pieces = []
    this.#piecesLength = 0
    return true
  }

  /** Runs the commands in `bytes`, and keeps the rest. */
  #runCommands(bytes: Buffer, end: number): void {
    const { parser, reply } = this.#server
    const session = this.#session
    let at = 0
    let next = 0
    let ran = 0
    session.begin()
    parser.begin(bytes)
    reply.protocol = session.protocol
    while (at < end && this.#state === 'reading') {
      parser.longestCommand = session.key === undefined ? LONGEST_FIRST_COMMAND : LONGEST_COMMAND
      next = parser.read(bytes, at, end)
      if (next < 0) break
      at = next
      ran += 1
      if (parser.count > 0) this.#runCommand()
      if (session.isLeaving) this.#state = 'leaving'
      else if (reply.length >= MOST_REPLY_BYTES || this.#areTooManyDue()) this.#keepReplies()
    }
    session.end()
    if (next === BROKEN) this.#refuse(parser.problem)
    this.#neededLength = next === INCOMPLETE ? parser.neededEnd - at : 0
    if (at === end) this.#rest = NOTHING
    else if (bytes === this.#rest) this.#rest = bytes.subarray(at)
    else this.#rest = Buffer.from(bytes.subarray(at, end))
    // A command that comes in drops is as late as its first byte.
    if (at > 0) this.#sinceSweep = this.#server.sweeps
    this.#keepReplies(ran === 1)
  }

  #runCommand(): void {
    const { parser, reply, commands, stats } = this.#server
    stats.commands += 1
    const start = reply.length
    const later = commands.run(parser, reply, this.#session)
    if (later !== undefined) {
      const { protocol } = this.#session
      const due = this.#due.add(undefined)
      later.then((write) => this.#settle(due, protocol, write))
    } else if (this.#due.count > 0) {
      // An earlier reply is due, and this one waits behind it.
      this.#due.add(reply.take(start))
    }
  }

  /** Writes a reply that was not known at once, in the protocol of its command. */
  #settle(due: DueReply, protocol: 2 | 3, write: WriteReply): void {
    const { reply } = this.#server
    reply.protocol = protocol
    write(reply)
    this.#due.settle(due, reply.take())
    this.#flushLater()
  }

  /** Takes over the replies that were written, and sends them with all others of the turn. A lone reply and many are sent at once. */
  #keepReplies(isLone = false): void {
    const { reply, stats } = this.#server
    stats.errors += reply.errors
    reply.errors = 0
    if (reply.length > 0) this.#unsent += reply.takeText()
    if (isLone || this.#unsent.length >= MOST_REPLY_BYTES) this.#send()
    else if (this.#unsent !== '') this.#flushLater()
    this.#pauseIfFull()
  }

  #flushLater(): void {
    if (this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    this.#server.flushes.add(this)
  }

  flush(): void {
    this.#isFlushScheduled = false
    this.#send()
    this.#pauseIfFull()
    if (this.#due.count === 0) this.#sinceSweep = this.#server.sweeps
    this.#proceed()
  }

  /** Sends the replies that are known. */
  #send(): void {
    const unsent = this.#unsent
    const due = this.#due.take()
    this.#unsent = ''
    if (!this.#socket.writable) return
    if (unsent !== '') this.#socket.write(unsent, 'latin1')
    if (due !== undefined) this.#socket.write(due)
  }

  #pauseIfFull(): void {
    if (this.#state !== 'reading' || !this.#isFull()) return
    this.#state = 'full'
    this.#socket.pause()
  }

  #isFull(): boolean {
    return this.#areTooManyDue() || this.#socket.writableNeedDrain
  }

  #areTooManyDue(): boolean {
    return this.#due.count >= MOST_DUE || this.#due.bytes >= MOST_REPLY_BYTES
  }

  /** Answers a protocol error. Nothing that follows can be understood, so the connection ends. */
  #refuse(problem: string): void {
    const { reply } = this.#server
    const start = reply.length
    reply.error(`ERR Protocol error: ${problem}`)
    if (this.#due.count > 0) this.#due.add(reply.take(start))
    this.#state = 'leaving'
  }

  /** Does what the state waits for, if it is possible now. */
  #proceed(): void {
    while (this.#state === 'full' && !this.#isFull()) {
      this.#state = 'reading'
      if (this.#rest.length > 0) this.#runCommands(this.#rest, this.#rest.length)
      if (this.#state !== 'reading') continue
      if (this.#leavesAfterRest) this.#state = 'leaving'
      this.#socket.resume()
    }
    if (this.#due.count > 0 || this.#isFlushScheduled) return
    const isDone = this.#state === 'leaving' || (this.#state === 'reading' && this.#hasEnded)
    if (!isDone) return
    this.#state = 'gone'
    this.#socket.destroySoon()
  }

  readonly #onDrain = (): void => {
    this.#sinceSweep = this.#server.sweeps
    this.#proceed()
  }

  readonly #onEnd = (): void => {
    this.#hasEnded = true
    this.#proceed()
  }

  readonly #onClose = (): void => {
    this.#state = 'gone'
    this.#rest = NOTHING
    this.#pieces = []
    this.#unsent = ''
    this.#server.forget(this)
  }
}

/** The close event follows every error. */
function ignore(): void {}
