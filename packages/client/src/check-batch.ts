// Combines the checks of one turn of the event loop into one request.
// Invariant: a check is sent in the turn in which it was made, and a request stays within the limits of the service.

import { LIMITS } from './contract/constants.ts'

const BEFORE = '{"checks":['
const AFTER = ']}'

interface Waiting<Result> {
  resolve(result: Result): void
  reject(reason: unknown): void
}

export interface BatchOptions<Wire, Result> {
  /** Sends checks, each as JSON text, and their list as the body of a batch. Returns the results in the order of the checks. */
  send(checks: readonly string[], body: () => string): Promise<readonly Wire[]>
  /** Reads one result. Throws the error of a check that could not be decided. */
  read(wire: Wire): Result
  readonly endOfTurn: EndOfTurn
}

/** Calls a function at the end of the present turn. */
export type EndOfTurn = (callback: () => void) => void

export class CheckBatch<Wire, Result> {
  readonly #options: BatchOptions<Wire, Result>
  #checks: string[] = []
  #bytes = 0
  #waiting: Waiting<Result>[] = []

  constructor(options: BatchOptions<Wire, Result>) {
    this.#options = options
  }

  /** Adds a check as JSON text. */
  add(check: string): Promise<Result> {
    const bytes = utf8Bytes(check) + 1
    if (this.#bytes + bytes > LIMITS.mostBatchBytes - BEFORE.length - AFTER.length) this.flush()
    if (this.#waiting.length === 0) this.#options.endOfTurn(() => this.flush())
    this.#checks.push(check)
    this.#bytes += bytes
    const answered = new Promise<Result>((resolve, reject) => this.#waiting.push({ resolve, reject }))
    if (this.#waiting.length >= LIMITS.mostChecks) this.flush()
    return answered
  }

  /** Sends the waiting checks. */
  flush(): void {
    const waiting = this.#waiting
    if (waiting.length === 0) return
    const checks = this.#checks
    this.#checks = []
    this.#bytes = 0
    this.#waiting = []
    const { send, read } = this.#options
    send(checks, () => BEFORE + checks.join() + AFTER).then(
      (results) => {
        for (let i = 0; i < waiting.length; i++) {
          try {
            waiting[i].resolve(read(results[i]))
          } catch (error) {
            waiting[i].reject(error)
          }
        }
      },
      (error: unknown) => {
        for (const { reject } of waiting) reject(error)
      },
    )
  }
}

/** Number of bytes in UTF-8. The text has no lone surrogates. */
export function utf8Bytes(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x80) continue
    // Each half of a pair takes two of the four bytes of its character.
    bytes += code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 1 : 2
  }
  return bytes
}
