// Reads the head of a check from bytes: one exact request line, and header fields from a table, each in one plain form.
// Invariant: node:http reads every head that is accepted here in the same way, and sends nothing for the beginning of one. All other bytes
// are foreign, at the first byte that rules a check out.

import type { KeyFields } from '../authentication.ts'

/** The bytes are the beginning of a head. */
export const INCOMPLETE = -1
/** The bytes are not a head that is accepted here. */
export const FOREIGN = -2

/** Maximum length of a head. node:http accepts longer ones. */
export const HEAD_BYTES = 8 * 1024

const REQUEST_LINE = Buffer.from('POST /v1/check HTTP/1.1\r\n')

/** Fields that are read. The order gives each its number. */
const READ = ['host', 'content-length', 'content-type', 'connection', 'api-key', 'authorization'] as const
const [HOST, CONTENT_LENGTH, CONTENT_TYPE, CONNECTION, API_KEY, AUTHORIZATION] = READ.keys()

/** Fields without a meaning for a check whose key is valid. If the key is not valid, node:http reads the request. */
const IGNORED = [
  'accept',
  'accept-encoding',
  'accept-language',
  'baggage',
  'forwarded',
  'sec-fetch-mode',
  'traceparent',
  'tracestate',
  'user-agent',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-real-ip',
  'x-request-id',
] as const

interface Field {
  readonly number: number
  readonly name: Buffer
}

export const FIELD_NAMES: readonly string[] = [...READ, ...IGNORED]

const FIELDS: readonly Field[] = FIELD_NAMES.map((name, number) => ({ number, name: Buffer.from(name) }))
const LONGEST_NAME = Math.max(...FIELDS.map(({ name }) => name.length))
const FIELDS_BY_LENGTH = Array.from({ length: LONGEST_NAME + 1 }, (_, length) =>
  FIELDS.filter(({ name }) => name.length === length),
)

/** Bits of the fields that every accepted head has. Without Host, node:http refuses a request. */
const NEEDED = (1 << HOST) | (1 << CONTENT_LENGTH) | (1 << CONTENT_TYPE)

/** More digits are a body that is too large. */
const MOST_DIGITS = 9

const KEEP_ALIVE = Buffer.from('keep-alive')
const JSON_BODY = Buffer.from('application/json')

const CR = 0x0d
const LF = 0x0a
const SPACE = 0x20
const HYPHEN = 0x2d
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const SEMICOLON = 0x3b
const SMALL_A = 0x61
const SMALL_Z = 0x7a
const TILDE = 0x7e
/** A small letter and its capital differ by this. */
const CAPITAL = 0x20

/** The values are those of the last head that `read` accepted. */
export class CheckHead implements KeyFields {
  contentLength = 0
  #bytes: Buffer = REQUEST_LINE
  /** Bits of the fields of this head. */
  #seen = 0
  /** Start and end of the value of each field, by the number of the field. */
  readonly #from = new Int32Array(FIELDS.length)
  readonly #to = new Int32Array(FIELDS.length)

  get host(): string | undefined {
    return this.#text(HOST)
  }

  get apiKey(): string | undefined {
    return this.#text(API_KEY)
  }

  get authorization(): string | undefined {
    return this.#text(AUTHORIZATION)
  }

  /** Returns the index of the body of the request that begins at `start` of `length` bytes; or INCOMPLETE, or FOREIGN. */
  read(bytes: Buffer, start: number, length: number): number {
    this.#bytes = bytes
    this.#seen = 0
    const end = Math.min(length, start + HEAD_BYTES)
    const atEnd = length < start + HEAD_BYTES ? INCOMPLETE : FOREIGN
    for (let i = 0; i < REQUEST_LINE.length; i++) {
      if (start + i === end) return atEnd
      if (bytes[start + i] !== REQUEST_LINE[i]) return FOREIGN
    }
    let at = start + REQUEST_LINE.length
    while (at < end && bytes[at] !== CR) {
      at = this.#readField(at, end)
      if (at < 0) return at === INCOMPLETE ? atEnd : FOREIGN
    }
    if (at + 1 >= end) return atEnd
    return bytes[at + 1] === LF && (this.#seen & NEEDED) === NEEDED ? at + 2 : FOREIGN
  }

  #text(field: number): string | undefined {
    return this.#seen & (1 << field) ? this.#bytes.toString('latin1', this.#from[field], this.#to[field]) : undefined
  }

  /** Reads `Name: value` and the end of its line. Returns the index after it; or INCOMPLETE, or FOREIGN. */
  #readField(start: number, end: number): number {
    const bytes = this.#bytes
    let colon = start
    while (colon < end && bytes[colon] !== COLON) {
      if (colon - start === LONGEST_NAME || !isNameByte(bytes[colon])) return FOREIGN
      colon += 1
    }
    if (colon === end) return INCOMPLETE
    const number = fieldNumber(bytes, start, colon)
    if (number < 0 || this.#seen & (1 << number)) return FOREIGN
    if (colon + 1 === end) return INCOMPLETE
    if (bytes[colon + 1] !== SPACE) return FOREIGN
    const from = colon + 2
    let to = from
    while (to < end && bytes[to] !== CR) {
      if (bytes[to] < SPACE || bytes[to] > TILDE) return FOREIGN
      // node:http refuses any other byte at once, so it must not wait here for the end of the line.
      if (number === CONTENT_LENGTH && (bytes[to] < ZERO || bytes[to] > NINE || to - from === MOST_DIGITS)) return FOREIGN
      to += 1
    }
    if (to + 1 >= end) return INCOMPLETE
    if (bytes[to + 1] !== LF || !this.#isPlain(number, from, to)) return FOREIGN
    this.#seen |= 1 << number
    this.#from[number] = from
    this.#to[number] = to
    return to + 2
  }

  /** True if the value has the one form that is accepted for its field. Keeps the length of the body. */
  #isPlain(number: number, from: number, to: number): boolean {
    const bytes = this.#bytes
    if (from === to || bytes[from] === SPACE || bytes[to - 1] === SPACE) return false
    switch (number) {
      case CONTENT_LENGTH:
        this.contentLength = 0
        for (let i = from; i < to; i++) this.contentLength = this.contentLength * 10 + bytes[i] - ZERO
        return bytes[from] !== ZERO
      case CONTENT_TYPE: {
        const end = from + JSON_BODY.length
        return isWord(bytes, from, Math.min(end, to), JSON_BODY) && (end === to || bytes[end] === SEMICOLON)
      }
      case CONNECTION:
        return isWord(bytes, from, to, KEEP_ALIVE)
      default:
        return true
    }
  }
}

function isNameByte(byte: number): boolean {
  const small = byte | CAPITAL
  return (small >= SMALL_A && small <= SMALL_Z) || byte === HYPHEN
}

/** Returns the number of the field with this name, or -1. */
function fieldNumber(bytes: Buffer, start: number, end: number): number {
  for (const { number, name } of FIELDS_BY_LENGTH[end - start]) {
    if (isWord(bytes, start, end, name)) return number
  }
  return -1
}

/** Compares without regard to capitals. `word` has small letters. */
function isWord(bytes: Buffer, start: number, end: number, word: Buffer): boolean {
  if (end - start !== word.length) return false
  for (let i = 0; i < word.length; i++) {
    const byte = bytes[start + i]
    const isCapital = word[i] >= SMALL_A && byte === word[i] - CAPITAL
    if (byte !== word[i] && !isCapital) return false
  }
  return true
}
