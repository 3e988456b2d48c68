// The replies of checks and holds: maps with the names that the HTTP API uses.

import type { CheckResult } from '../../../decide/decider.ts'
import { bulks, type ReplyWriter } from '../protocol/reply-writer.ts'

/** Fields that every reply has: status, limit, remain, reset_in_second, policy, rule. */
const FIELDS = 6

const ALLOW = bulks('status', 'Allow', 'limit')
const DENY = bulks('status', 'Deny', 'limit')
const REMAIN = bulks('remain')
const RESET = bulks('reset_in_second')

/** Writes a map with the fields of a check, and room for `more` others. */
export function writeResult(reply: ReplyWriter, result: CheckResult, more = 0): void {
  const { policy, allowed, isShadowDenied, decision, reason } = result
  const { limit, remaining, resetAfterMs, retryAfterMs, retryable, failure } = decision
  const hasReason = !allowed && reason !== undefined
  reply.map(FIELDS + Number(isShadowDenied) + Number(failure !== undefined) + (allowed ? 0 : 2) + Number(hasReason) + more)
  reply.made(allowed ? ALLOW : DENY)
  reply.integer(limit)
  reply.made(REMAIN)
  reply.integer(remaining)
  reply.made(RESET)
  reply.integer(Math.ceil(resetAfterMs / 1000))
  if (isShadowDenied) {
    reply.bulk('shadow_denied')
    reply.boolean(true)
  }
  if (failure !== undefined) {
    reply.bulk('fallback')
    reply.bulk(failure.then)
  }
  if (!allowed) {
    reply.bulk('retryable')
    reply.boolean(retryable)
    reply.bulk('retry_after_ms')
    if (retryAfterMs === Number.POSITIVE_INFINITY) reply.nothing()
    else reply.integer(retryAfterMs)
  }
  writeText(reply, 'policy', policy.name)
  writeText(reply, 'rule', decision.rule)
  if (hasReason) writeText(reply, 'reason', JSON.parse(reason))
}

/** Writes a field with units by rule name. */
export function writeUnits(reply: ReplyWriter, field: string, units: Readonly<Record<string, number>>): void {
  const entries = Object.entries(units)
  reply.bulk(field)
  reply.map(entries.length)
  for (const [rule, count] of entries) {
    reply.bulk(rule)
    reply.integer(count)
  }
}

/** Writes a field with a time; null if there is none. */
export function writeTime(reply: ReplyWriter, field: string, atMs: number | undefined): void {
  reply.bulk(field)
  if (atMs === undefined || atMs === 0) reply.nothing()
  else reply.bulk(new Date(atMs).toISOString())
}

/** Writes a field with a text. */
export function writeText(reply: ReplyWriter, field: string, text: string): void {
  reply.bulk(field)
  reply.bulk(text)
}
