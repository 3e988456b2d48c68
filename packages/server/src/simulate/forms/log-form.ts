// The contract of a log form: it divides a line into named fields.
// Invariant: no line makes it throw.

/** Returned by `parse` for a line that is not about a request, such as a comment or a heading. */
export const NO_REQUEST = ''

export interface LogForm {
  /** Called at the start of each file. */
  begin(): void
  /** Returns the index of a field, for `value`. Throws FieldError if the form has no such field. Called before the first line. */
  find(field: string): number
  /** Divides a line. Returns undefined if it can be read, NO_REQUEST, or the problem. */
  parse(text: string, from: number, to: number): string | undefined
  /** Returns a field of the last line that was parsed; an empty text if it is missing. */
  value(index: number): string
  /** Returns the index of the column that a field is a part of. Omitted if every field is a column. */
  column?(index: number): number
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
