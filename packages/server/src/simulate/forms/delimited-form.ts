// Lines with a delimiter between fields: CSV, with quotes as in RFC 4180, and the standard log of CloudFront.
// The first line of a CSV file names its columns. A line of CloudFront that begins with #Fields does. A column without a name is called
// by its number, such as #3. A quoted field cannot contain a line break.

import { type LogBytes, textOf } from './log-bytes.ts'
import { type LogForm, NO_REQUEST } from './log-form.ts'

export interface DelimitedLayout {
  readonly delimiter: string
  /** `first-line`: the first line of each file. `fields-line`: a line that begins with `#Fields:`. `none`: there are only numbers. */
  readonly heading: 'first-line' | 'fields-line' | 'none'
  /** Names of the columns until a heading is read. */
  readonly columns: readonly string[]
  /** True if fields may be in quotes. */
  readonly hasQuotes: boolean
}

const FIELDS = '#Fields:'
const COLUMN = /^#([1-9]\d{0,3})$/

/** Maximum number of columns. */
const MOST_COLUMNS = 1024

export class DelimitedForm implements LogForm {
  readonly #layout: DelimitedLayout
  /** Names of the wanted fields, by index. A name with a space stands for two columns with a space between. */
  readonly #wanted: string[] = []
  /** The columns of each wanted field; −1 if there is none. */
  #columnsOf: readonly (readonly number[])[] = []
  #columns: readonly string[]
  #needsHeading = false
  #cells: string[] = []

  constructor(layout: DelimitedLayout) {
    this.#layout = layout
    this.#columns = layout.columns
  }

  begin(): void {
    this.#needsHeading = this.#layout.heading === 'first-line'
    this.#resolve(this.#layout.columns)
  }

  find(field: string): number {
    this.#wanted.push(field)
    this.#resolve(this.#columns)
    return this.#wanted.length - 1
  }

  parse(bytes: LogBytes, from: number, to: number): string | undefined {
    if (from === to) return this.#layout.heading === 'fields-line' ? NO_REQUEST : 'it is empty'
    const line = textOf(bytes, from, to)
    if (this.#layout.heading === 'fields-line' && line.startsWith('#')) {
      if (line.startsWith(FIELDS)) this.#resolve(line.slice(FIELDS.length).trim().split(/\s+/))
      return NO_REQUEST
    }
    const cells = this.#split(line)
    if (cells === undefined) return 'a quoted field has no end'
    if (this.#needsHeading) {
      this.#needsHeading = false
      this.#resolve(cells.map((name) => name.trim()))
      return NO_REQUEST
    }
    this.#cells = cells
    return undefined
  }

  value(index: number): string {
    const columns = this.#columnsOf[index]
    if (columns.length === 1) return this.#cells[columns[0]] ?? ''
    return columns.map((column) => this.#cells[column] ?? '').join(' ')
  }

  #resolve(columns: readonly string[]): void {
    this.#columns = columns
    const columnOf = (name: string): number => {
      const numbered = COLUMN.exec(name)
      return numbered === null ? columns.indexOf(name) : Number(numbered[1]) - 1
    }
    this.#columnsOf = this.#wanted.map((name) => {
      const whole = columnOf(name)
      return whole >= 0 || !name.includes(' ') ? [whole] : name.split(' ').map(columnOf)
    })
  }

  /** Returns undefined if a quote is not closed. */
  #split(line: string): string[] | undefined {
    const { delimiter, hasQuotes } = this.#layout
    if (!hasQuotes || !line.includes('"')) return line.split(delimiter, MOST_COLUMNS)
    const cells: string[] = []
    let at = 0
    while (at <= line.length && cells.length < MOST_COLUMNS) {
      if (line[at] === '"') {
        const end = endOfQuoted(line, at + 1)
        if (end < 0) return undefined
        cells.push(line.slice(at + 1, end).replaceAll('""', '"'))
        at = end + 1 + delimiter.length
        continue
      }
      const end = line.indexOf(delimiter, at)
      cells.push(line.slice(at, end < 0 ? line.length : end))
      if (end < 0) break
      at = end + delimiter.length
    }
    return cells
  }
}

/** Returns the index of the closing quote; −1 if there is none. Two quotes are one quote of the text. */
function endOfQuoted(line: string, from: number): number {
  let at = line.indexOf('"', from)
  while (at >= 0 && line[at + 1] === '"') at = line.indexOf('"', at + 2)
  return at
}
