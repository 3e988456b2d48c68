// Checks that are made in the same turn of the event loop, gathered into one request.
// What must stay true: a check waits no longer than the turn it was made in, and a request stays within what the service takes.

/** What the service takes in one request. */
const MOST_CHECKS = 1000
const MOST_BYTES = 256 * 1024

const BEFORE = '{"checks":['
const AFTER = ']}'

interface Waiting<Result> {
  resolve(result: Result): void
  reject(reason: unknown): void
}

/** Sends the body of one batch; → its results, in the order of the checks. */
export type SendBatch<Result> = (body: string, count: number) => Promise<readonly Result[]>

export class CheckBatch<Result> {
  readonly #send: SendBatch<Result>
  #checks: string[] = []
  #bytes = 0
  #waiting: Waiting<Result>[] = []

  constructor(send: SendBatch<Result>) {
    this.#send = send
  }

  /** Adds a check, in JSON. */
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

  /** Sends what waits. */
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
