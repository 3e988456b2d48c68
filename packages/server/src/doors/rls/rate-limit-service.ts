// The method ShouldRateLimit: decides, and answers within the caller's deadline. The caller is admitted already, see call-router.ts.
// Invariant: nothing is charged for a caller whose deadline has passed. Every call is answered once.

import type { ServerUnaryCall, StatusObject, sendUnaryData } from '@grpc/grpc-js'
import { status } from '@grpc/grpc-js'
import type { Logger } from 'pino'
import { ServerError } from '../../errors.ts'
import { type Outcome, responseTo } from './descriptor-status.ts'
import { grpcErrorOf } from './grpc-errors.ts'
import { MOST_FIELDS } from './message-fields.ts'
import { MALFORMED, type RateLimitRequest, type RateLimitResponse } from './protocol.ts'
import type { RateLimitCalls } from './rate-limit-calls.ts'

/** Gets the answer to a request. */
export interface Answerer {
  answered(response: RateLimitResponse): void
  failed(reason: Pick<StatusObject, 'code' | 'details'>): void
}

export class RateLimitService {
  readonly #calls: RateLimitCalls
  readonly #logger: Logger

  constructor(calls: RateLimitCalls, logger: Logger) {
    this.#calls = calls
    this.#logger = logger
  }

  decide(request: RateLimitRequest, deadlineMs: number, answerer: Answerer): void {
    if (deadlineMs <= Date.now()) {
      answerer.failed({ code: status.DEADLINE_EXCEEDED, details: 'the deadline passed before the request was decided' })
      return
    }
    try {
      if (request === MALFORMED)
        throw new ServerError('ERR_INPUT', `the message is not a RateLimitRequest of up to ${MOST_FIELDS} fields`)
      const outcomes = this.#calls.decide(request)
      if (outcomes instanceof Promise) void this.#answerLater(outcomes, answerer)
      else answerer.answered(responseTo(outcomes))
    } catch (error) {
      answerer.failed(grpcErrorOf(error, this.#logger))
    }
  }

  /** The handler for grpc-js. */
  readonly shouldRateLimit = (
    call: ServerUnaryCall<RateLimitRequest, RateLimitResponse>,
    callback: sendUnaryData<RateLimitResponse>,
  ): void => {
    if (call.cancelled) return
    this.decide(call.request, Number(call.getDeadline()), {
      answered: (response) => callback(null, response),
      failed: (reason) => callback(reason),
    })
  }

  async #answerLater(outcomes: Promise<readonly Outcome[]>, answerer: Answerer): Promise<void> {
    try {
      answerer.answered(responseTo(await outcomes))
    } catch (error) {
      answerer.failed(grpcErrorOf(error, this.#logger))
    }
  }
}
