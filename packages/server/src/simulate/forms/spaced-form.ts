// Lines with spaces between fields, some in quotes or brackets: common and combined of Apache and nginx, and Envoy's default.
// A field that is in the line and has no name is called by its column, such as #10. Columns are counted from 1.

import { FieldError, type LogForm } from './log-form.ts'

const SPACE = 32
const QUOTE = 34
const BRACKET = 91
const BACKSLASH = 92

export interface SpacedLayout {
  /** Names of the columns. The column `request` also gives the fields method, path and protocol. */
  readonly columns: readonly string[]
  /** Name of the field that is the last entry of a column with a list of addresses, and the name of that column. */
  readonly lastOfList?: { readonly field: string; readonly column: string }
}

/** Indexes of fields that are parts of a column. */
const METHOD = 1000
const PATH = 1001
const PROTOCOL = 1002
const LAST_OF_LIST = 1003
const REQUEST_PARTS: Readonly<Record<string, number>> = { method: METHOD, path: PATH, protocol: PROTOCOL }

/** Maximum number of columns. */
const MOST_COLUMNS = 256

const COLUMN = /^#([1-9]\d{0,2})$/

export class SpacedForm implements LogForm {
  readonly #layout: SpacedLayout
  readonly #request: number
  readonly #list: number
  readonly #starts = new Int32Array(MOST_COLUMNS)
  readonly #ends = new Int32Array(MOST_COLUMNS)
  /** Number of columns that are read. The others are not looked at. */
  #needed: number
  #text = ''
  /** Ends of method and path in the request; −1 if they are not known yet. */
  #methodEnd = -1
  #pathEnd = -1

  constructor(layout: SpacedLayout) {
    this.#layout = layout
    this.#request = layout.columns.indexOf('request')
    this.#list = layout.columns.indexOf(layout.lastOfList?.column ?? '')
    // Every line must have its request, which tells it from a line of another form.
    this.#needed = this.#request + 1
  }

  begin(): void {}

  find(field: string): number {
    const { columns, lastOfList } = this.#layout
    if (Object.hasOwn(REQUEST_PARTS, field)) return REQUEST_PARTS[field]
    if (field === lastOfList?.field) {
      this.#needed = Math.max(this.#needed, this.#list + 1)
      return LAST_OF_LIST
    }
    const numbered = COLUMN.exec(field)
    const column = numbered === null ? columns.indexOf(field) : Number(numbered[1]) - 1
    if (column < 0 || column >= MOST_COLUMNS) {
      const known = [...columns, ...Object.keys(REQUEST_PARTS), ...(lastOfList === undefined ? [] : [lastOfList.field])]
      throw new FieldError(`there is no field ${field}: there is ${known.join(', ')}, and a column by its number, such as #10`)
    }
    this.#needed = Math.max(this.#needed, column + 1)
    return column
  }

  parse(text: string, from: number, to: number): string | undefined {
    const needed = this.#needed
    let column = 0
    let at = from
    while (column < needed) {
      while (at < to && text.charCodeAt(at) === SPACE) at += 1
      if (at >= to) return from === to ? 'it is empty' : `it has ${column} fields, and ${needed} are needed`
      const opening = text.charCodeAt(at)
      let end: number
      if (opening === QUOTE) {
        at += 1
        end = closingQuote(text, at, to)
      } else if (opening === BRACKET) {
        at += 1
        end = text.indexOf(']', at)
      } else {
        // These fields are short, so a loop is faster than a search.
        end = at + 1
        while (end < to && text.charCodeAt(end) !== SPACE) end += 1
      }
      if (end < 0 || end > to || (opening !== QUOTE && column === this.#request)) return `its field ${column + 1} is not whole`
      this.#starts[column] = at
      this.#ends[column] = end
      column += 1
      at = end + 1
    }
    this.#text = text
    this.#methodEnd = -1
    return undefined
  }

  value(index: number): string {
    if (index >= METHOD) return this.#partOf(index)
    return unescaped(this.#text.slice(this.#starts[index], this.#ends[index]))
  }

  column(index: number): number {
    if (index === LAST_OF_LIST) return this.#list
    return index >= METHOD ? this.#request : index
  }

  #partOf(index: number): string {
    if (index === LAST_OF_LIST) {
      const list = this.#text.slice(this.#starts[this.#list], this.#ends[this.#list])
      return list.slice(list.lastIndexOf(',') + 1).trim()
    }
    if (this.#methodEnd < 0) this.#divideRequest()
    const start = this.#starts[this.#request]
    const end = this.#ends[this.#request]
    if (index === METHOD) return this.#text.slice(start, this.#methodEnd)
    if (index === PATH) return unescaped(this.#text.slice(Math.min(this.#methodEnd + 1, end), this.#pathEnd))
    return this.#text.slice(Math.min(this.#pathEnd + 1, end), end)
  }

  /** A request is `GET /path HTTP/1.1`. The path may contain spaces, and HTTP/0.9 has no protocol. */
  #divideRequest(): void {
    const text = this.#text
    const start = this.#starts[this.#request]
    const end = this.#ends[this.#request]
    const first = text.indexOf(' ', start)
    this.#methodEnd = first < 0 || first > end ? end : first
    const last = text.lastIndexOf(' ', end - 1)
    this.#pathEnd = last > this.#methodEnd && text.startsWith('HTTP/', last + 1) ? last : end
  }
}

/** Returns the index of the closing quote; −1 if there is none. A quote after a backslash is part of the text. */
function closingQuote(text: string, from: number, to: number): number {
  let at = text.indexOf('"', from)
  while (at >= 0 && at < to && text.charCodeAt(at - 1) === BACKSLASH && isEscaped(text, from, at)) at = text.indexOf('"', at + 1)
  return at
}

/** True if an odd number of backslashes comes before `at`. */
function isEscaped(text: string, from: number, at: number): boolean {
  let first = at
  while (first > from && text.charCodeAt(first - 1) === BACKSLASH) first -= 1
  return (at - first) % 2 === 1
}

const ESCAPE = /\\(?:x([0-9A-Fa-f]{2})|(.))/g
const ESCAPED_LETTERS: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', v: '\v' }

/** Servers write a quote as `\"` or `\x22`. */
function unescaped(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(ESCAPE, (_, hex: string | undefined, letter: string) =>
    hex === undefined ? (ESCAPED_LETTERS[letter] ?? letter) : String.fromCharCode(Number.parseInt(hex, 16)),
  )
}
