// Fields of a log that stand for one part of a request. The first one that a line has is used.
// Invariant: a text that a log repeats is decoded once, as long as the cache knows it.

import type { LogBytes } from './log-bytes.ts'
import type { ColumnBytes, LogForm } from './log-form.ts'
import { NO_TAG, TextCache, UNKNOWN } from './text-cache.ts'

export interface LogFieldsOptions {
  readonly form: LogForm
  /** Names of the fields. */
  readonly names: readonly string[]
  /** Maximum number of texts that are kept of each field. */
  readonly mostTexts: number
  /** The longest text that is kept, in characters. */
  readonly longest?: number
}

interface Field {
  readonly index: number
  readonly column: number
  readonly cache: TextCache
}

export class LogFields {
  /** True if the last text was read from the cache. Then it is not longer than `longest`. */
  isKnown = false
  readonly #form: LogForm
  readonly #columns: ColumnBytes | undefined
  readonly #fields: readonly Field[]
  readonly #longest: number
  /** The place of the last text in a cache. */
  #cache: TextCache
  #number = UNKNOWN

  /** Throws FieldError if the form lacks a field. */
  constructor({ form, names, mostTexts, longest = Number.POSITIVE_INFINITY }: LogFieldsOptions) {
    const { columns } = form
    this.#form = form
    this.#columns = columns
    this.#longest = longest
    this.#cache = new TextCache(mostTexts)
    this.#fields = names.map((name, i) => {
      const index = form.find(name)
      return { index, column: columns?.columnOf(index) ?? index, cache: i === 0 ? this.#cache : new TextCache(mostTexts) }
    })
  }

  get size(): number {
    return this.#fields.length
  }

  /** The columns of the fields. Empty if the form has no bytes of columns. */
  get columns(): readonly number[] {
    return this.#columns === undefined ? [] : this.#fields.map(({ column }) => column)
  }

  /** Returns the first of the fields that the last parsed line has; null if it has none. */
  read(line: LogBytes): string | null {
    const fields = this.#fields
    for (let i = 0; i < fields.length; i++) {
      const text = this.#readField(fields[i], line)
      if (text !== null) return text
    }
    return null
  }

  /** The tag of the last text: a number of the receiver. NO_TAG if it has none. */
  get tag(): number {
    return this.#number === UNKNOWN ? NO_TAG : this.#cache.tag(this.#number)
  }

  /** Tags the last text. If its bytes come again, they have the tag, unless they were forgotten. */
  set tag(tag: number) {
    if (this.#number !== UNKNOWN) this.#cache.setTag(this.#number, tag)
  }

  #readField({ index, column, cache }: Field, line: LogBytes): string | null {
    const columns = this.#columns
    this.isKnown = false
    this.#number = UNKNOWN
    if (columns === undefined) return this.#decode(index)
    const from = columns.start(column)
    const to = columns.end(column)
    this.#cache = cache
    const number = cache.find(line, from, to)
    this.#number = number
    this.isKnown = number !== UNKNOWN
    if (number !== UNKNOWN) return cache.text(number)
    const text = this.#decode(index)
    if (text === null || text.length <= this.#longest) this.#number = cache.add(line, from, to, text)
    return text
  }

  /** Servers write a missing field as `-`. */
  #decode(index: number): string | null {
    const text = this.#form.value(index)
    return text === '' || text === '-' ? null : text
  }
}
