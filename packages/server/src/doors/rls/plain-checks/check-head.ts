// Reads from its headers if a call has the usual form of a check, in which clients send nearly all of them.

import type { IncomingHttpHeaders } from 'node:http2'

const CONTENT_TYPES: readonly (string | undefined)[] = ['application/grpc', 'application/grpc+proto']

const TIMEOUT = /^\d{1,8}[HMSmun]$/

const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 }

/** The longest time of a timer: 24 days. A longer one is as good as none. */
const MOST_TIMEOUT_MS = 2 ** 31 - 1

/**
 * Returns the time in milliseconds that the caller gives to its call, rounded down; Infinity if it gives any. Returns undefined if the call
 * has another form.
 */
export function plainTimeoutMs(headers: IncomingHttpHeaders): number | undefined {
  const encoding = headers['grpc-encoding']
  if (encoding !== undefined && encoding !== 'identity') return undefined
  if (headers[':method'] !== 'POST' || !CONTENT_TYPES.includes(headers['content-type'])) return undefined
  const timeout = headers['grpc-timeout']
  if (timeout === undefined) return Number.POSITIVE_INFINITY
  if (typeof timeout !== 'string' || !TIMEOUT.test(timeout)) return undefined
  const timeoutMs = Math.floor(Number(timeout.slice(0, -1)) * UNIT_MS[timeout.slice(-1)])
  return timeoutMs > MOST_TIMEOUT_MS ? Number.POSITIVE_INFINITY : timeoutMs
}
