// The contract of a log form: it divides a line into named fields.
// Invariant: no line makes it throw.

import type { LogBytes } from './log-bytes.ts'

/** Returned by `parse` for a line that is not about a request, such as a comment or a heading. */
export const NO_REQUEST = ''

export interface LogForm {
  /** Called at the start of each file. */
  begin(): void
  /** Returns the index of a field, for `value`. Throws FieldError if the form has no such field. Called before the first line. */
  find(field: string): number
  /** Divides a line. Returns undefined if it can be read, NO_REQUEST, or the problem. */
  parse(line: LogBytes, from: number, to: number): string | undefined
  /** Returns a field of the last line that was parsed; an empty text if it is missing. */
  value(index: number): string
  /** Present if fields are parts of the line's bytes. */
  readonly columns?: ColumnBytes
}

/** Places of the bytes that alone determine a field, in the last line that was parsed. */
export interface ColumnBytes {
  /** Returns the column that a field is in. Fields of the same column have the same bytes. */
  columnOf(index: number): number
  start(column: number): number
  end(column: number): number
  /** Lines with the same version above 0 have the same bytes in the column. 0 if nothing is known about them. */
  version(column: number): number
}

/** The fields of a form that stand for the parts of a request, unless a mapping names others. */
export interface UsualFields {
  readonly client: readonly string[]
  readonly time: readonly string[]
  readonly method: readonly string[]
  readonly path: readonly string[]
  readonly host: readonly string[]
}

/** A field that a form does not have. */
export class FieldError extends Error {
  override readonly name = 'FieldError'
}
