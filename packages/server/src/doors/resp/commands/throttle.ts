// CL.THROTTLE: the command of redis-cell, with its five integers and its errors.
//
// | integer | meaning                                                                              |
// | ------- | ------------------------------------------------------------------------------------ |
// | 0       | 0 if it is allowed, 1 if it is limited                                               |
// | 1       | the limit: max_burst + 1                                                             |
// | 2       | units left                                                                           |
// | 3       | seconds until the same call passes, rounded up; −1 if it passed, or if it never will |
// | 4       | seconds until the key is as new, rounded up                                          |

import { type Decision, SluiceError } from 'sluice'
import type { BroughtLimit, Throttle } from '../../../decide/throttle.ts'
import { LONGEST_THROTTLE_KEY } from '../limits.ts'
import type { Arguments } from '../protocol/arguments.ts'
import type { ReplyWriter } from '../protocol/reply-writer.ts'
import { RespError } from '../resp-error.ts'
import type { Session, Throttling } from '../session.ts'
import type { Command } from './command.ts'

const KEY = 1
const MAX_BURST = 2
const COUNT = 3
const PERIOD = 4
const QUANTITY = 5

const TOO_LARGE = 'a number is too large to be counted exactly'

export const throttle: Command = {
  name: 'CL.THROTTLE',
  usage: 'key max_burst count_per_period period [quantity]',
  summary: 'Decides by a limit that comes with the call, as redis-cell does.',
  arity: -5,
  needs: 'check',
  keyAt: KEY,
  run(args, reply, session) {
    if (!args.isRepeat) session.throttling = undefined
    session.throttling ??= readThrottling(args, session)
    const { throttle, quantity } = session.throttling
    if (args.length(KEY) > LONGEST_THROTTLE_KEY) throw cellError(`the key is longer than ${LONGEST_THROTTLE_KEY} bytes`)
    const answer = throttle.check(args.latin1(KEY), quantity, session.run)
    if (answer instanceof Promise) return answer.then((decision) => (later) => write(later, decision))
    write(reply, answer)
    return undefined
  },
}

function readThrottling(args: Arguments, session: Session): Throttling {
  if (args.count > QUANTITY + 1) throw new RespError("ERR wrong number of arguments for 'cl.throttle' command")
  const burst = integer(args, MAX_BURST) + 1
  const limit = integer(args, COUNT)
  const period = integer(args, PERIOD)
  const quantity = args.count > QUANTITY ? integer(args, QUANTITY) : 1
  const brought = { burst, limit, periodMs: period * 1000 }
  checkLimit(brought)
  if (!Number.isSafeInteger(quantity)) throw cellError(TOO_LARGE)
  return { throttle: throttleFor(session, brought), quantity }
}

/** Returns a whole number; an infinite one if it is too large to be exact. */
function integer(args: Arguments, index: number): number {
  const value = args.number(index)
  if (Number.isNaN(value)) throw cellError(`Couldn't parse as integer: ${args.latin1(index)}`)
  return value
}

function checkLimit({ burst, limit, periodMs }: BroughtLimit): void {
  if (limit === 0 || periodMs === 0) throw cellError('Zero rates are not supported')
  if (burst < 1 || limit < 0 || periodMs < 0) throw cellError('Negative numbers are supported for quantity only')
  const isExact = Number.isSafeInteger(burst) && Number.isSafeInteger(limit) && Number.isSafeInteger(periodMs)
  if (!isExact) throw cellError(TOO_LARGE)
}

/** Throws if the products of these numbers pass 2^53. */
function throttleFor({ service }: Session, limit: BroughtLimit): Throttle {
  try {
    return service.decider.throttles.throttleFor(limit)
  } catch (error) {
    throw error instanceof SluiceError ? cellError(error.message) : error
  }
}

function write(reply: ReplyWriter, { allowed, limit, remaining, retryAfterMs, resetAfterMs }: Decision): void {
  const isNever = allowed || retryAfterMs === Number.POSITIVE_INFINITY
  const retryAfter = isNever ? -1 : Math.ceil(retryAfterMs / 1000)
  reply.fiveIntegers(allowed ? 0 : 1, limit, remaining, retryAfter, Math.ceil(resetAfterMs / 1000))
}

function cellError(text: string): RespError {
  return new RespError(`Cell error: ${text}`)
}
