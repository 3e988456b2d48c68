// Combines the checks of one turn of the event loop into one request.
// Invariant: a check is sent in the turn in which it was made, and a request stays within the limits of the service.

/** Limits of the service for one request. */
const MOST_CHECKS = 1000
const MOST_BYTES = 256 * 1024

const BEFORE = '{"checks":['
const AFTER = ']}'

interface Waiting<Result> {
  resolve(result: Result): void
  reject(reason: unknown): void
}

/** Sends the body of one batch. Returns its results in the order of the checks. */
export type SendBatch<Result> = (body: string, count: number) => Promise<readonly Result[]>

export class CheckBatch<Result> {
  readonly #send: SendBatch<Result>
  #checks: string[] = []
  #bytes = 0
  #waiting: Waiting<Result>[] = []

  constructor(send: SendBatch<Result>) {
    this.#send = send
  }

  /** Adds a check as JSON text. */
  add(check: string): Promise<Result> {
    const bytes = Buffer.byteLength(check) + 1
    if (this.#bytes + bytes > MOST_BYTES - BEFORE.length - AFTER.length) this.flush()
    if (this.#waiting.length === 0) setImmediate(() => this.flush())
    this.#checks.push(check)
    this.#bytes += bytes
    const answered = new Promise<Result>((resolve, reject) => this.#waiting.push({ resolve, reject }))
    if (this.#waiting.length >= MOST_CHECKS) this.flush()
    return answered
  }

  /** Sends the waiting checks. */
  flush(): void {
    const waiting = this.#waiting
    if (waiting.length === 0) return
    const body = BEFORE + this.#checks.join() + AFTER
    this.#checks = []
    this.#bytes = 0
    this.#waiting = []
    this.#send(body, waiting.length).then(
      (results) => {
        for (const [i, { resolve }] of waiting.entries()) resolve(results[i])
      },
      (error: unknown) => {
        for (const { reject } of waiting) reject(error)
      },
    )
  }
}
