// Writes replies in RESP2 or RESP3 into one growing block of bytes.
// Invariant: an error or a simple text never contains a line end, whatever it is made of.

const CR = 0x0d
const LF = 0x0a
const ZERO = 0x30
const MINUS = 0x2d
const COLON = 0x3a
const STAR = 0x2a
const DOLLAR = 0x24
const PERCENT = 0x25

/** Longest form of a whole number with its type and line end. */
const NUMBER_BYTES = 24

/** Characters of an error that are control characters or more than one byte. The lower byte of such a character may be a line end. */
const UNSAFE = /[^ -~\u0080-\u00ff]/g

/** A block that became larger than this is given up after use. */
const KEPT_BYTES = 128 * 1024

/** Makes the bytes of short texts of ASCII that are written often, for `made`. */
export function bulks(...texts: readonly string[]): Uint8Array {
  return Buffer.from(texts.map((text) => `$${text.length}\r\n${text}\r\n`).join(''), 'latin1')
}

export class ReplyWriter {
  /** Version of the protocol: 2 or 3. */
  protocol: 2 | 3 = 2
  /** Number of bytes written. */
  length = 0
  /** Number of errors written. */
  errors = 0
  #bytes: Buffer = Buffer.allocUnsafe(KEPT_BYTES)

  /** Returns a copy of the bytes from `start` on, and forgets them. */
  take(start = 0): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(start, this.length))
    this.#forget(start)
    return taken
  }

  /** Returns all bytes as a text with one character for each, and forgets them. A socket writes a short text in less time than a buffer. */
  takeText(): string {
    const taken = this.#bytes.toString('latin1', 0, this.length)
    this.#forget(0)
    return taken
  }

  #forget(start: number): void {
    this.length = start
    if (start === 0 && this.#bytes.length > KEPT_BYTES) this.#bytes = Buffer.allocUnsafe(KEPT_BYTES)
  }

  /** Writes five integers as an array: the reply of CL.THROTTLE. */
  fiveIntegers(a: number, b: number, c: number, d: number, e: number): void {
    this.array(5)
    this.integer(a)
    this.integer(b)
    this.integer(c)
    this.integer(d)
    this.integer(e)
  }

  integer(value: number): void {
    this.#number(COLON, value)
  }

  array(count: number): void {
    this.#number(STAR, count)
  }

  /** Begins a map of `count` names and values. In RESP2 it is an array of twice as many. */
  map(count: number): void {
    if (this.protocol === 3) this.#number(PERCENT, count)
    else this.array(2 * count)
  }

  bulk(text: string | Buffer): void {
    const bytes = typeof text === 'string' ? Buffer.byteLength(text) : text.length
    this.#number(DOLLAR, bytes)
    this.#reserve(bytes + 2)
    if (typeof text === 'string') this.#bytes.write(text, this.length)
    else text.copy(this.#bytes, this.length)
    this.length += bytes
    this.#end()
  }

  /** Writes bytes that are in the form of the protocol already, see `bulks`. */
  made(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  /** Writes the absence of a value. */
  nothing(): void {
    this.#ascii(this.protocol === 3 ? '_' : '$-1')
    this.#end()
  }

  /** Writes true or false. In RESP2 it is 1 or 0. */
  boolean(value: boolean): void {
    if (this.protocol === 3) {
      this.#ascii(value ? '#t' : '#f')
      this.#end()
    } else this.integer(value ? 1 : 0)
  }

  /** Writes a short text of ASCII, such as `OK`. */
  simple(text: string): void {
    this.#ascii(`+${text}`)
    this.#end()
  }

  /** Writes an error. Its first word tells the kind. Each character is one byte. Characters that are none, and line ends, become `?`. */
  error(text: string): void {
    this.errors += 1
    this.#ascii(`-${text.replace(UNSAFE, '?')}`)
    this.#end()
  }

  #number(type: number, value: number): void {
    this.#reserve(NUMBER_BYTES)
    const bytes = this.#bytes
    let at = this.length
    bytes[at++] = type
    let rest = value
    if (rest < 0) {
      bytes[at++] = MINUS
      rest = -rest
    }
    if (rest < 10) bytes[at++] = ZERO + rest
    else if (rest < 100) {
      const tens = (rest / 10) | 0
      bytes[at++] = ZERO + tens
      bytes[at++] = ZERO + rest - tens * 10
    } else {
      let digits = 1
      for (let power = 10; power <= rest; power *= 10) digits += 1
      at += digits
      // Below 2^31 the division is one of integers.
      for (let place = at - 1; digits > 0; digits--, place--) {
        const tenth = rest < 0x7fffffff ? (rest / 10) | 0 : Math.floor(rest / 10)
        bytes[place] = ZERO + (rest - tenth * 10)
        rest = tenth
      }
    }
    bytes[at++] = CR
    bytes[at++] = LF
    this.length = at
  }

  #ascii(text: string): void {
    this.#reserve(text.length + 2)
    this.length += this.#bytes.write(text, this.length, 'latin1')
  }

  #end(): void {
    this.#bytes[this.length++] = CR
    this.#bytes[this.length++] = LF
  }

  #reserve(count: number): void {
    if (this.length + count <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.length + count))
    this.#bytes.copy(larger, 0, 0, this.length)
    this.#bytes = larger
  }
}
