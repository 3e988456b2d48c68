// Lines with spaces between fields, some in quotes or brackets: common and combined of Apache and nginx, and the defaults
// of Envoy and Istio.
// A field that is in the line and has no name is called by its column, such as #10. Columns are counted from 1.

import { areEqual, type LogBytes, logBytes, textOf } from './log-bytes.ts'
import { type ColumnBytes, FieldError, type LogForm } from './log-form.ts'

const SPACE = 32
const QUOTE = 34
const DASH = 45
const BRACKET = 91
const BACKSLASH = 92
const CLOSING_BRACKET = 93

/** A field that is a part of a column. */
export interface ColumnPart {
  readonly column: string
  /** Returns the part; an empty text if the column has none. */
  readonly read: (text: string) => string
}

export interface SpacedLayout {
  /** Names of the columns. The column `request` also gives the fields method, path and protocol. */
  readonly columns: readonly string[]
  /** The first column that is in brackets. The one before it may contain spaces, as the name of a user does. */
  readonly bracketed: string
  /** More fields that are parts of a column, by name. */
  readonly parts?: Readonly<Record<string, ColumnPart>>
}

const REQUEST = 'request'
const REQUEST_PARTS: Readonly<Record<string, ColumnPart>> = {
  method: { column: REQUEST, read: (request) => requestParts(request).method },
  path: { column: REQUEST, read: (request) => unescaped(requestParts(request).path) },
  protocol: { column: REQUEST, read: (request) => requestParts(request).protocol },
}

/** The longest text in brackets that is compared with the last one. A longer one has no length that could match. */
const LONGEST_COMPARED = 64
const NOT_COMPARED = -1

/** Maximum number of columns. */
const MOST_COLUMNS = 256

const COLUMN = /^#([1-9]\d{0,2})$/

export class SpacedForm implements LogForm, ColumnBytes {
  readonly columns: ColumnBytes = this
  readonly #layout: SpacedLayout
  readonly #request: number
  readonly #bracketed: number
  readonly #parts: Readonly<Record<string, ColumnPart>>
  /** The parts that were asked for. Their indexes follow those of the columns. */
  readonly #found: ColumnPart[] = []
  readonly #starts = new Int32Array(MOST_COLUMNS)
  readonly #ends = new Int32Array(MOST_COLUMNS)
  /** Number of columns that are read. The others are not looked at. */
  #needed: number
  #line: LogBytes = logBytes(Buffer.alloc(0))
  /** The last text in brackets, its length, and the number of texts so far. */
  readonly #brackets = logBytes(Buffer.alloc(LONGEST_COMPARED))
  #bracketsLength = NOT_COMPARED
  #version = 0
  /** The version of each column; 0 if it has no brackets. */
  readonly #versions = new Int32Array(MOST_COLUMNS)

  constructor(layout: SpacedLayout) {
    this.#layout = layout
    this.#request = layout.columns.indexOf(REQUEST)
    this.#bracketed = layout.columns.indexOf(layout.bracketed)
    this.#parts = { ...REQUEST_PARTS, ...layout.parts }
    // Every line must have its request, which tells it from a line of another form.
    this.#needed = this.#request + 1
  }

  begin(): void {}

  find(field: string): number {
    const { columns } = this.#layout
    if (Object.hasOwn(this.#parts, field)) {
      const part = this.#parts[field]
      this.#needed = Math.max(this.#needed, columns.indexOf(part.column) + 1)
      return MOST_COLUMNS + this.#found.push(part) - 1
    }
    const numbered = COLUMN.exec(field)
    const column = numbered === null ? columns.indexOf(field) : Number(numbered[1]) - 1
    if (column < 0 || column >= MOST_COLUMNS) {
      const known = [...columns, ...Object.keys(this.#parts)].join(', ')
      throw new FieldError(`there is no field ${field}: there is ${known}, and a column by its number, such as #10`)
    }
    this.#needed = Math.max(this.#needed, column + 1)
    return column
  }

  parse(line: LogBytes, from: number, to: number): string | undefined {
    const { bytes } = line
    const needed = this.#needed
    let column = 0
    let at = from
    while (column < needed) {
      while (at < to && bytes[at] === SPACE) at += 1
      if (at >= to) return from === to ? 'it is empty' : `it has ${column} fields, and ${needed} are needed`
      let opening = bytes[at]
      let end = -1
      if (opening === BRACKET) {
        end = this.#endOfBrackets(line, at + 1, to)
        // An address of IPv6 with a port begins with a bracket too.
        if (end >= 0 && end + 1 < to && bytes[end + 1] !== SPACE) opening = 0
        else at += 1
      }
      if (opening === QUOTE) {
        at += 1
        end = closingQuote(bytes, at, to)
      } else if (opening !== BRACKET) {
        end = at + 1
        while (end < to && bytes[end] !== SPACE) end += 1
        if (column + 1 === this.#bracketed && bytes[end + 1] !== BRACKET) end = endBeforeBracket(bytes, at, end, to)
      }
      if (end < 0 || (opening !== QUOTE && column === this.#request)) return `its field ${column + 1} is not whole`
      this.#starts[column] = at
      this.#ends[column] = end
      this.#versions[column] = opening === BRACKET ? this.#version : 0
      column += 1
      at = end + 1
    }
    this.#line = line
    return undefined
  }

  value(index: number): string {
    const column = this.columnOf(index)
    const text = textOf(this.#line, this.#starts[column], this.#ends[column])
    return column === index ? unescaped(text) : this.#found[index - MOST_COLUMNS].read(text)
  }

  /** Neighbouring lines often have the same time, so the text in brackets of the last line is compared first. */
  #endOfBrackets(line: LogBytes, at: number, to: number): number {
    const last = at + this.#bracketsLength
    if (
      last < to &&
      line.bytes[last] === CLOSING_BRACKET &&
      areEqual(line.view, at, this.#brackets.view, 0, this.#bracketsLength)
    )
      return last
    const end = line.bytes.indexOf(CLOSING_BRACKET, at)
    if (end < 0 || end >= to) return -1
    this.#version += 1
    this.#bracketsLength = end - at <= LONGEST_COMPARED ? end - at : NOT_COMPARED
    if (this.#bracketsLength > 0) line.bytes.copy(this.#brackets.bytes, 0, at, end)
    return end
  }

  columnOf(index: number): number {
    return index < MOST_COLUMNS ? index : this.#layout.columns.indexOf(this.#found[index - MOST_COLUMNS].column)
  }

  start(column: number): number {
    return this.#starts[column]
  }

  end(column: number): number {
    return this.#ends[column]
  }

  version(column: number): number {
    return this.#versions[column]
  }
}

/** Returns the last entry of a list of addresses. */
export function lastOfList(text: string): string {
  return text.slice(text.lastIndexOf(',') + 1).trim()
}

/** Returns an address without its port, as in `192.0.2.1:443` and `[2001:db8::1]:443`. */
export function withoutPort(text: string): string {
  const [, inBrackets, plain] = /^(?:\[(.*)\]|([^:]*)):\d+$/.exec(text) ?? []
  return inBrackets ?? plain ?? text
}

/**
 * Divides a request such as `GET /path HTTP/1.1`. The path may contain spaces, and HTTP/0.9 has no protocol. Envoy writes a connection
 * without a request as `- - -`.
 */
function requestParts(request: string): { readonly method: string; readonly path: string; readonly protocol: string } {
  const first = request.indexOf(' ')
  const methodEnd = first < 0 ? request.length : first
  const last = request.lastIndexOf(' ')
  const hasProtocol = last > methodEnd && (request.startsWith('HTTP/', last + 1) || request.endsWith(' -'))
  const pathEnd = hasProtocol ? last : request.length
  return {
    method: request.slice(0, methodEnd),
    path: request.slice(methodEnd + 1, pathEnd),
    protocol: request.slice(pathEnd + 1),
  }
}

/**
 * Returns the end of the name of a user that contains spaces: the space before the next bracket. A missing name is `-`, and whatever
 * comes after it is not a part of it.
 */
function endBeforeBracket(bytes: Buffer, from: number, end: number, to: number): number {
  if (bytes[from] === DASH && end === from + 1) return end
  for (let at = end; at + 1 < to; at++) if (bytes[at] === SPACE && bytes[at + 1] === BRACKET) return at
  return end
}

/** Returns the index of the closing quote; −1 if there is none. A quote after a backslash is part of the text. */
function closingQuote(bytes: Buffer, from: number, to: number): number {
  const first = bytes.indexOf(QUOTE, from)
  if (first < 0 || first >= to) return -1
  if (bytes[first - 1] !== BACKSLASH) return first
  for (let at = from; at < to; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) return at
    if (byte === BACKSLASH) at += 1
  }
  return -1
}

const ESCAPE = /((?:\\x[0-9A-Fa-f]{2})+)|\\(.)/g
const ESCAPED_LETTERS: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', v: '\v' }

/** Servers write a quote as `\"` or `\x22`, and other bytes as in `\xC3\xA9`, which is UTF-8. */
function unescaped(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(ESCAPE, (_, bytes: string | undefined, letter: string) =>
    bytes === undefined ? (ESCAPED_LETTERS[letter] ?? letter) : Buffer.from(bytes.replaceAll('\\x', ''), 'hex').toString(),
  )
}
