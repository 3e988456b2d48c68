// The method ShouldRateLimit: decides, and answers within the caller's deadline. The caller is admitted already, see call-guard.ts.
// Invariant: nothing is charged for a caller that has gone or whose deadline has passed. Every call is answered once.

import type { ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js'
import { status } from '@grpc/grpc-js'
import { ServerError } from '../../errors.ts'
import type { Service } from '../../service.ts'
import { type Outcome, responseTo } from './descriptor-status.ts'
import { grpcErrorOf } from './grpc-errors.ts'
import { MOST_FIELDS } from './message-fields.ts'
import { MALFORMED, type RateLimitRequest, type RateLimitResponse } from './protocol.ts'
import type { RateLimitCalls } from './rate-limit-calls.ts'

export interface RateLimitServiceOptions {
  readonly service: Service
  readonly calls: RateLimitCalls
}

export type ShouldRateLimit = (
  call: ServerUnaryCall<RateLimitRequest, RateLimitResponse>,
  callback: sendUnaryData<RateLimitResponse>,
) => void

export function shouldRateLimit({ service, calls }: RateLimitServiceOptions): ShouldRateLimit {
  return (call, callback) => {
    const fail = (error: unknown): void => callback(grpcErrorOf(error, service.logger))
    const answer = (outcomes: readonly Outcome[]): void => callback(null, responseTo(outcomes))
    if (call.cancelled) return
    if (Number(call.getDeadline()) <= Date.now()) {
      callback({ code: status.DEADLINE_EXCEEDED, details: 'the deadline passed before the request was decided' })
      return
    }
    try {
      if (call.request === MALFORMED)
        throw new ServerError('ERR_INPUT', `the message is not a RateLimitRequest of up to ${MOST_FIELDS} fields`)
      const outcomes = calls.decide(call.request)
      if (outcomes instanceof Promise) outcomes.then(answer).catch(fail)
      else answer(outcomes)
    } catch (error) {
      fail(error)
    }
  }
}
