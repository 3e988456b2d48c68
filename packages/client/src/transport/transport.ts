// Sends one call to the service: within its deadline, and again only if it was not sent.
// Invariant: a call settles by its deadline, and a request that may have arrived is never sent again.

import { systemClock } from 'sluice/engines'
import { Deadlines } from 'sluice/failure'
import { ClientError } from '../client-error.ts'
import { type Connection, type HttpAnswer, type HttpCall, NotSent, type SentCall } from './connection.ts'

export interface TransportOptions {
  readonly connection: Connection
  /** The address of the service, for messages. */
  readonly place: string
  readonly timeoutMs: number
  readonly retry: boolean
}

const FIRST_PAUSE_MS = 25

export class Transport {
  readonly options: TransportOptions
  readonly deadlines: Deadlines
  /** True if the last call found no service. Then calls are not retried, so that an outage costs little time. */
  isUnreachable = false
  isClosed = false

  constructor(options: TransportOptions) {
    this.options = options
    this.deadlines = new Deadlines(systemClock, options.timeoutMs)
  }

  ask(call: HttpCall): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => new CallUnderWay(this, call, resolve, reject).start())
  }

  close(): void {
    this.isClosed = true
    this.options.connection.close()
  }
}

/** One call, with all its attempts. It ends once. */
class CallUnderWay {
  readonly #transport: Transport
  readonly #call: HttpCall
  readonly #resolve: (answer: HttpAnswer) => void
  readonly #reject: (error: ClientError) => void
  readonly #endMs: number
  #cancelDeadline = (): void => {}
  #sent: SentCall | undefined
  #hasEnded = false
  #pauseMs = FIRST_PAUSE_MS

  constructor(transport: Transport, call: HttpCall, resolve: (answer: HttpAnswer) => void, reject: (error: ClientError) => void) {
    this.#transport = transport
    this.#call = call
    this.#resolve = resolve
    this.#reject = reject
    this.#endMs = performance.now() + transport.options.timeoutMs
  }

  start(): void {
    this.#cancelDeadline = this.#transport.deadlines.start(() => this.#onDeadline())
    this.#try()
  }

  #try(): void {
    if (this.#hasEnded) return
    if (this.#transport.isClosed) return this.#fail(new ClientError('ERR_CLOSED', 'the client has been closed'))
    this.#sent = this.#transport.options.connection.send(this.#call)
    this.#sent.answer.then(
      (answer) => this.#onAnswer(answer),
      (error: unknown) => this.#onError(error as Error),
    )
  }

  #onAnswer(answer: HttpAnswer): void {
    this.#transport.isUnreachable = false
    this.#end()
    this.#resolve(answer)
  }

  #onError(error: Error): void {
    if (this.#hasEnded) return
    const { place, retry } = this.#transport.options
    if (!(error instanceof NotSent)) {
      const message = `the connection to ${place} broke: ${error.message}`
      return this.#fail(new ClientError('ERR_LOST', message, { mayHaveHappened: true, cause: error }))
    }
    const isLate = performance.now() + this.#pauseMs >= this.#endMs
    if (retry && error.isTransient && !this.#transport.isUnreachable && !isLate) {
      systemClock.after(this.#pauseMs, () => this.#try())
      this.#pauseMs *= 2
      return
    }
    this.#transport.isUnreachable = true
    const message = `${place} cannot be reached: ${error.message}`
    this.#fail(new ClientError('ERR_UNREACHABLE', message, { cause: error.cause }))
  }

  #onDeadline(): void {
    const { place, timeoutMs } = this.#transport.options
    const mayHaveHappened = this.#sent?.mayBeSent ?? false
    this.#hasEnded = true
    const what = mayHaveHappened ? 'has not answered' : 'could not be reached'
    this.#reject(new ClientError('ERR_DEADLINE', `${place} ${what} within ${timeoutMs} ms`, { mayHaveHappened }))
    this.#sent?.abort()
  }

  #fail(error: ClientError): void {
    this.#end()
    this.#reject(error)
  }

  #end(): void {
    this.#hasEnded = true
    this.#cancelDeadline()
  }
}
