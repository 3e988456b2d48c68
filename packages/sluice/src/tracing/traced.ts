// Publishes calls of a limiter on diagnostics channels: `tracing:sluice:hit`, `tracing:sluice:reserve`, `tracing:sluice:wait`.
// Invariant: without a subscriber, a call only asks whether there is one. A subscriber that throws does not fail a call.

import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel'
import { mustBe } from '../core/errors.ts'
import type { Limiter } from '../core/limiter.ts'
import { checkOptions } from '../core/options.ts'
import type { Timing } from '../core/store.ts'
import type { Subject } from '../core/subject.ts'

const METHODS = ['hit', 'reserve', 'wait'] as const

/** A method of a limiter that has a channel. */
export type TracedMethod = (typeof METHODS)[number]

/** The message on a channel. Node adds `result` when the call has been answered, and `error` when it failed. */
export interface TracedCall {
  readonly method: TracedMethod
  /** The name that `traced` was given. */
  readonly limiter: string
  /** Names of the limiter's rules. */
  readonly rules: readonly string[]
  readonly subject: Subject
  /** The options of the call, such as its cost. */
  readonly options: unknown
  /** A decision, or a hold. */
  result?: unknown
  error?: unknown
}

export interface TraceOptions {
  /** Tells limiters apart in traces. Default: the names of the rules, joined by commas. */
  readonly name?: string
}

type Call = (subject: Subject, options?: unknown) => unknown

/** One set of channels for all limiters of the process, as instrumentation expects. */
const channels = new Map<TracedMethod, TracingChannel<unknown, TracedCall>>()

/** Publishes the calls of a limiter from now on. Changes the limiter, and returns it. */
export function traced<L extends Limiter<Timing, never>>(limiter: L, options: TraceOptions = {}): L {
  if (typeof limiter?.hit !== 'function') throw mustBe('ERR_OPTION', 'limiter', 'what createLimiter() makes', limiter)
  checkOptions('traced', options, ['name'])
  const rules = limiter.rules.map((rule) => rule.name)
  const { name = rules.join(',') } = options
  if (typeof name !== 'string' || name === '') throw mustBe('ERR_OPTION', 'name', 'a text', name)
  for (const method of METHODS) {
    Object.defineProperty(limiter, method, {
      value: publishing(limiter[method] as Call, { method, limiter: name, rules }),
      configurable: true,
      writable: true,
    })
  }
  return limiter
}

function publishing(call: Call, described: Pick<TracedCall, 'method' | 'limiter' | 'rules'>): Call {
  const channel = channelOf(described.method)
  return function (this: unknown, subject, options) {
    return channel.hasSubscribers
      ? publish(channel, () => call.call(this, subject, options), { ...described, subject, options })
      : call.call(this, subject, options)
  }
}

/** Publishes as `traceSync` does, or as `tracePromise` does if the call answers with a promise. */
function publish(channel: TracingChannel<unknown, TracedCall>, call: () => unknown, message: TracedCall): unknown {
  const { start, end, asyncStart, asyncEnd, error } = channel
  const settled = (): void => {
    asyncStart.publish(message)
    asyncEnd.publish(message)
  }
  const fail = (reason: unknown): never => {
    message.error = reason
    error.publish(message)
    throw reason
  }
  return start.runStores(message, () => {
    try {
      const answer = call()
      if (!(answer instanceof Promise)) {
        message.result = answer
        return answer
      }
      return answer
        .then((result) => {
          message.result = result
          return result
        }, fail)
        .finally(settled)
    } catch (reason) {
      return fail(reason)
    } finally {
      end.publish(message)
    }
  })
}

function channelOf(method: TracedMethod): TracingChannel<unknown, TracedCall> {
  const known = channels.get(method)
  if (known !== undefined) return known
  const made = tracingChannel<unknown, TracedCall>(`sluice:${method}`)
  channels.set(method, made)
  return made
}
