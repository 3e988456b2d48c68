// The hold of one request. It is kept open until the response has ended, and is then settled once.

import type { TimerClock } from '../../core/clock.ts'
import type { Hold } from '../../core/reserving.ts'
import type { Cost } from '../../core/subject.ts'
import { type Count, SafeCounter } from '../../streams/counting.ts'
import { HoldKeeper, type HoldTimes } from '../../streams/hold-keeper.ts'
import { watchStream } from '../../streams/watched-stream.ts'
import { andThen, type MaybePromise, tryThen } from '../gate/maybe-promise.ts'
import type { NodeResponse } from '../gate/node-adapter.ts'
import type { GateContext } from '../gate/request-context.ts'
import type { HeldRequest } from '../gate/reserve.ts'
import { followNodeResponse } from './node-response.ts'
import type { EndedResponse, ReservingOptions } from './reserve-options.ts'

/** The status of a response to a request whose handler threw. */
const FAILED = 500

/** Statuses whose responses have no body. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304]

export interface RequestHoldOptions<R> {
  readonly hold: Hold
  readonly context: GateContext
  readonly used: ReservingOptions<R>['used']
  readonly count: Count<string | Uint8Array> | undefined
  readonly times: HoldTimes
  readonly clock: TimerClock
  /** Called with the error if the units cannot be found, or the settle fails. */
  onError(error: unknown): void
}

export class RequestHold<R> implements HeldRequest {
  /** The units that the handler has reported. */
  reported: Cost | undefined
  readonly #options: RequestHoldOptions<R>
  readonly #keeper: HoldKeeper
  readonly #counter: SafeCounter<string | Uint8Array> | undefined
  readonly #encoder = new TextEncoder()
  #bytes = 0

  constructor(options: RequestHoldOptions<R>) {
    const { hold, count, times, clock } = options
    this.#options = options
    this.#counter = count && new SafeCounter(count, Object.keys(hold.granted))
    this.#keeper = new HoldKeeper(hold, times, clock)
  }

  get names(): readonly string[] {
    return Object.keys(this.#options.hold.granted)
  }

  get hasEnded(): boolean {
    return this.#keeper.hasEnded
  }

  followNode(response: NodeResponse): void {
    followNodeResponse(response, {
      onChunk: (chunk) => this.#add(chunk),
      onEnd: (isComplete) => {
        const header = (name: string): string | undefined => response.getHeader(name)?.toString()
        void this.#end(response.statusCode, isComplete, header)
      },
    })
  }

  followWeb(request: Request, response: Response): MaybePromise<Response> {
    const { body, status, headers } = response
    const header = (name: string): string | undefined => headers.get(name) ?? undefined
    const { signal } = request
    const end = (isComplete: boolean): Promise<void> => {
      signal?.removeEventListener('abort', abort)
      return this.#end(status, isComplete, header)
    }
    const abort = (): void => void end(false)
    // The body of such a response is not read. A response to an upgrade cannot be copied.
    if (body === null || body.locked || request.method === 'HEAD' || status < 200 || this.#isDenied) {
      return andThen(end(true), () => response)
    }
    if (signal?.aborted) return andThen(end(false), () => response)
    // Not every runtime cancels the body if the client disconnects.
    signal?.addEventListener('abort', abort)
    const followed = watchStream(body, {
      onChunk: (chunk) => this.#add(chunk),
      onEnd: (outcome) => end(outcome === 'end'),
    })
    return new Response(followed, response)
  }

  handleWeb(request: Request, handle: () => MaybePromise<Response>): MaybePromise<Response> {
    return tryThen(
      // A handler may return something else than a Response. Then this throws, and the hold must end all the same.
      () => andThen(handle(), (response) => this.followWeb(request, response)),
      (response) => response,
      async (error) => {
        await this.fail()
        throw error
      },
    )
  }

  fail(): Promise<void> {
    return this.#end(FAILED, false, () => undefined)
  }

  cancel(): void {
    void this.#report(this.#keeper.cancel())
  }

  /** True if a later gate has denied the request, so that it did not reach its handler. */
  get #isDenied(): boolean {
    const { request, latest } = this.#options.context
    return latest?.request === request && latest?.denial !== undefined
  }

  #add(chunk: string | Uint8Array): void {
    this.#bytes += typeof chunk === 'string' ? this.#encoder.encode(chunk).byteLength : chunk.byteLength
    this.#counter?.add(chunk)
  }

  async #end(status: number, isComplete: boolean, header: EndedResponse<R>['header']): Promise<void> {
    if (this.#keeper.hasEnded) return
    if (this.#isDenied) {
      await this.#report(this.#keeper.cancel())
      return
    }
    let used: Cost | undefined
    try {
      used = this.reported ?? this.#usedOf(status, isComplete, header)
    } catch (error) {
      this.#options.onError(error)
    }
    await this.#report(this.#keeper.settle(used))
    if (this.#counter?.error !== undefined) this.#options.onError(this.#counter.error)
  }

  #usedOf(status: number, isComplete: boolean, header: EndedResponse<R>['header']): Cost | undefined {
    const { used, hold, context } = this.#options
    const counted = this.#counter?.total()
    if (used === undefined) return counted
    const bytes = WITHOUT_BODY.includes(status) ? 0 : this.#bytes
    if (used === 'content-length') return bytes
    return used({ request: context.request, status, bytes, isComplete, granted: hold.granted, counted, header })
  }

  async #report(ended: Promise<unknown>): Promise<void> {
    const error = await ended
    if (error !== undefined) this.#options.onError(error)
  }
}
