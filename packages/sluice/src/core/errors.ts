// Errors. Codes never change: programs compare them. Messages are for people and may change.

/** Every code with its meaning. A test compares the reference in docs/reference/errors.md with this table. */
export const ERROR_CODES = {
  ERR_KEY: 'The key is not a string, or is empty.',
  ERR_COST: 'The cost, or the count to set, is not a whole number in range.',
  ERR_RULE: 'A rule was made with options that cannot work.',
  ERR_RULE_NAME: 'No rule of the limiter has that name, or two rules share one.',
  ERR_DURATION: 'A duration could not be read.',
  ERR_NOTATION: 'A rule in notation could not be read.',
  ERR_OPTION: 'An option is unknown, missing or out of range.',
  ERR_CLOCK: 'The clock returned a value that is not a time.',
  ERR_DUMP: 'The dump of a memory store is damaged, or of another version.',
  ERR_HOLD: 'The hold was settled or cancelled before, or has expired.',
  ERR_HOLDS: 'A key has too many open holds.',
  ERR_CLOSED: 'The limiter has been closed.',
  ERR_STORE_REFUSED: 'The store refused the call: the call was certainly not counted.',
  ERR_STORE_UNKNOWN: 'The store did not answer: the call may have been counted.',
  ERR_STORE_FATAL: 'The store cannot work as it is set up.',
  ERR_WAIT_NEVER: 'Waiting does not help: the denial is not retryable.',
  ERR_WAIT_TIMEOUT: 'The wait would be, or was, longer than maxWaitMs.',
  ERR_WAIT_FULL: 'Too many callers are waiting already.',
} as const

export type ErrorCode = keyof typeof ERROR_CODES

/** Matches the codes of errors whose cause may go away by itself: refused and unknown, timeout and full. The same call may succeed later. */
const TRANSIENT = /STORE_[RU]|WAIT_[TF]|HOLDS/

/** Details of an error, for programs. Messages are for people. */
export interface ErrorDetails {
  readonly cause?: unknown
  /** Name of the option or argument that is wrong. */
  readonly option?: string
  /** The wrong value. */
  readonly value?: unknown
}

/** Marks the errors of every loaded copy of the package, because limiter and store may come from different copies. */
const BRAND = Symbol.for('sluice.error')

export class SluiceError extends Error {
  override readonly name = 'SluiceError'
  readonly code: ErrorCode
  /** True if the same call may succeed later without any change to the program. */
  readonly transient: boolean
  /** Name of the option or argument that is wrong; undefined if the error is not about one. */
  readonly option: string | undefined
  /** The wrong value of `option`. */
  readonly value: unknown

  constructor(code: ErrorCode, message: string, { option, value, ...rest }: ErrorDetails = {}) {
    super(message, rest)
    this.code = code
    this.transient = TRANSIENT.test(code)
    this.option = option
    this.value = value
  }

  /** `instanceof SluiceError` looks for the mark, so it also recognises errors of another copy of the package. */
  static override [Symbol.hasInstance](thing: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: in a class that extends this one, `this` is that class.
    return this === SluiceError ? Object(thing)[BRAND] === true : super[Symbol.hasInstance](thing)
  }

  get [BRAND](): true {
    return true
  }
}

/** Makes the error about an option or argument with a wrong value. Its message calls it `named`. */
export function mustBe(code: ErrorCode, option: string, need: string, value: unknown, named = option): SluiceError {
  return new SluiceError(code, `${named} must be ${need}, got ${show(value)}`, { option, value })
}

/** Writes a value for an error message: short, strings in quotes. Never throws. */
export function show(value: unknown): string {
  if (typeof value === 'string') {
    return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
  }
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return 'a function'
  if (value === null || typeof value !== 'object') return String(value)
  return isArray(value) ? 'an array' : 'an object'
}

/** True for an array. False for a revoked proxy, about which nothing can be known. */
function isArray(value: object): boolean {
  try {
    return Array.isArray(value)
  } catch {
    return false
  }
}
