// Every error of the service. Being over a limit is an answer, not an error.
// Messages are for people: the problem, the value, and the expected form. The contract has the codes.

import type { SluiceError } from 'sluice'
import { SERVER_ERROR_CODES, type ServerErrorCode } from './contract/error-codes.ts'

export { SERVER_ERROR_CODES, type ServerErrorCode } from './contract/error-codes.ts'

/** One problem with the input. */
export interface Problem {
  /** The place: `rules[0].limit`; empty for the whole input. */
  readonly at: string
  readonly message: string
}

export class ServerError extends Error {
  override readonly name = 'ServerError'
  readonly code: ServerErrorCode
  /** For ERR_INPUT: all problems, not only the first. */
  readonly problems: readonly Problem[]

  constructor(
    code: ServerErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly problems?: readonly Problem[] } = {},
  ) {
    super(message, options)
    this.code = code
    this.problems = options.problems ?? []
  }

  get status(): number {
    return SERVER_ERROR_CODES[this.code].status
  }
}

/** Returns the service's code for an error of the library. */
export function codeOfLibrary({ code }: SluiceError): ServerErrorCode {
  if (code === 'ERR_HOLD' || code === 'ERR_HOLDS') return code
  return code.startsWith('ERR_STORE') ? 'ERR_STORE' : 'ERR_INPUT'
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
