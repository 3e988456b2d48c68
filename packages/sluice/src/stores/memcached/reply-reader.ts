// Reads the replies of a server from the pieces in which they arrive. It is strict: a reply that it does not know is an error, and
// the connection must not be used any more.
// Invariant: it keeps at most one reply that is not complete, and never more bytes than LONGEST_LINE and the bound for values.

import { Buffer } from 'node:buffer'

/** `opaque` is the number that the server repeats from the command; undefined if it repeated none. */
export type Reply =
  | { readonly kind: 'value'; readonly bytes: Uint8Array; readonly cas: string; readonly opaque: number }
  | { readonly kind: 'status'; readonly code: string; readonly opaque: number | undefined }
  | { readonly kind: 'error'; readonly text: string }

/** Lines are short. The longest is an error message. */
const LONGEST_LINE = 1024

const CR = 13
const LF = 10
const LINE_END_BYTES = 2

const VALUE = /^VA (0|[1-9]\d{0,9}) c(\d{1,20}) O(\d{1,10})$/
const STATUS = /^(EN|HD|NS|EX|NF)(?: O(\d{1,10}))?$/
const HANDSHAKE = /^(?:MN|STORED)$/
const ERROR = /^(?:ERROR|CLIENT_ERROR|SERVER_ERROR)(?: [ -~]*)?$/

const NO_BYTES = Buffer.alloc(0)

/** A value of which some bytes are here. */
interface OpenValue {
  readonly cas: string
  readonly opaque: number
  /** Space for the value and the end of its line. */
  readonly bytes: Buffer
  filled: number
}

export class ReplyReader {
  readonly #mostValueBytes: number
  readonly #onReply: (reply: Reply) => void
  /** Beginning of a line that is not complete. */
  #line: Buffer = NO_BYTES
  #open: OpenValue | undefined

  constructor(mostValueBytes: number, onReply: (reply: Reply) => void) {
    this.#mostValueBytes = mostValueBytes
    this.#onReply = onReply
  }

  /** Reads a piece, and calls `onReply` for each complete reply. Throws if the bytes are no replies, or if `onReply` throws. */
  push(piece: Buffer): void {
    let bytes = piece
    if (this.#open !== undefined) {
      const taken = this.#fill(this.#open, piece)
      if (this.#open !== undefined) return
      bytes = piece.subarray(taken)
    } else if (this.#line.length > 0) {
      bytes = Buffer.concat([this.#line, piece])
    }
    this.#line = NO_BYTES
    for (let at = 0; at < bytes.length; ) at = this.#read(bytes, at)
  }

  /** Reads one reply, or keeps its beginning. Returns the index of the next byte. */
  #read(bytes: Buffer, at: number): number {
    const end = endOfLine(bytes, at)
    if (end < 0) {
      // A copy: a part of a piece would keep the whole piece in memory.
      this.#line = Buffer.from(bytes.subarray(at))
      return bytes.length
    }
    const line = bytes.toString('latin1', at, end)
    const next = end + LINE_END_BYTES
    const value = VALUE.exec(line)
    if (value === null) {
      this.#onReply(statusOf(line))
      return next
    }
    const length = Number(value[1])
    if (length > this.#mostValueBytes) throw new Error(`a value has ${length} bytes, the most is ${this.#mostValueBytes}`)
    const whole = length + LINE_END_BYTES
    const [cas, opaque] = [value[2], Number(value[3])]
    if (bytes.length - next >= whole) {
      this.#onValue(bytes.subarray(next, next + whole), cas, opaque)
      return next + whole
    }
    this.#open = { cas, opaque, bytes: Buffer.allocUnsafe(whole), filled: 0 }
    return next + this.#fill(this.#open, bytes.subarray(next))
  }

  /** Adds bytes to a value. Returns the number of bytes that belong to it. */
  #fill(open: OpenValue, piece: Buffer): number {
    const taken = piece.copy(open.bytes, open.filled)
    open.filled += taken
    if (open.filled === open.bytes.length) {
      this.#open = undefined
      this.#onValue(open.bytes, open.cas, open.opaque)
    }
    return taken
  }

  #onValue(whole: Buffer, cas: string, opaque: number): void {
    const length = whole.length - LINE_END_BYTES
    if (whole[length] !== CR || whole[length + 1] !== LF) throw new Error('a value does not end where its length says')
    this.#onReply({ kind: 'value', bytes: whole.subarray(0, length), cas, opaque })
  }
}

function statusOf(line: string): Reply {
  const status = STATUS.exec(line)
  if (status !== null) return { kind: 'status', code: status[1], opaque: status[2] === undefined ? undefined : Number(status[2]) }
  if (HANDSHAKE.test(line)) return { kind: 'status', code: line, opaque: undefined }
  if (ERROR.test(line)) return { kind: 'error', text: line }
  throw new Error('a reply is none of the meta protocol')
}

/** Returns the index of the line's end; -1 if it is not here yet. Throws if the line is too long, or ends in another way. */
function endOfLine(bytes: Buffer, from: number): number {
  const lf = bytes.indexOf(LF, from)
  if ((lf < 0 ? bytes.length : lf) - from > LONGEST_LINE) throw new Error(`a reply has a line of more than ${LONGEST_LINE} bytes`)
  if (lf < 0) return -1
  if (lf === from || bytes[lf - 1] !== CR) throw new Error('a line of a reply does not end with CR and LF')
  return lf - 1
}
