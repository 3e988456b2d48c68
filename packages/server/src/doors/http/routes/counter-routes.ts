// Manual changes of counters: read, reset, refund, set.

import { AttributesOf, Counted, envelope, Pair, Refund, SetCount, Usage, UsageQuery } from '../../../contract/schemas.ts'
import type { RuleUsage } from '../../../decide/counters.ts'
import { ServerError } from '../../../errors.ts'
import { checkInput } from '../../../input/check-input.ts'
import { show } from '../../../input/near-word.ts'
import { mayUse } from '../../../keys/key-ring.ts'
import type { Attributes } from '../../../policies/request-facts.ts'
import { callerOf } from '../plumbing/caller-of.ts'
import { success } from '../plumbing/envelope.ts'
import { hasHalf } from '../plumbing/json-body.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'

const failures = [400, 413, 415, 503]

/** Part of administration: read, reset, set. */
export function counterRoutes(app: App, context: RouteContext): void {
  const { service, authentication } = context
  const { decider } = service

  app.get(
    '/v1/usage',
    {
      onRequest: authentication.requires('read'),
      schema: {
        ...described({
          tag: 'counters',
          id: 'getUsage',
          summary: 'See what a client has used',
          description: 'Spends nothing.',
          scope: 'read',
          answers: { 200: envelope(Usage, 'The current usage.') },
          failures: [400, 503],
        }),
        querystring: UsageQuery,
      },
    },
    async ({ query: { client_id, route, attributes: written, cost = 1 } }) => {
      const request = { clientId: client_id, route, attributes: attributesIn(written), cost }
      const { policy, decision, allowed, rules: used } = await decider.usage(request)
      const status = allowed ? ('Allow' as const) : ('Deny' as const)
      const rules = used.map(ruleUsage)
      const fallback = decision.failure && { fallback: decision.failure.then }
      const holds = decider.holds.usageOf(request)
      return success({ client_id, route, policy: policy.name, mode: policy.mode, status, rules, holds, ...fallback })
    },
  )

  app.post(
    '/v1/reset',
    {
      onRequest: authentication.requires('admin'),
      schema: {
        ...described({
          tag: 'counters',
          id: 'resetCounter',
          summary: 'Reset what a client has used',
          scope: 'admin',
          answers: { 200: envelope(Counted, 'The counter is reset, as if the client had never been seen.') },
          failures,
        }),
        body: Pair,
      },
    },
    async (request) => {
      const { client_id, route, attributes } = request.body
      const policy = await decider.reset({ clientId: client_id, route, attributes })
      await service.desk.record(callerOf(context, request), {
        action: 'counter.reset',
        target: `${client_id} ${route}`,
        after: { policy: policy.name },
      })
      return success({ client_id, route, policy: policy.name, used: 0 })
    },
  )

  app.post(
    '/v1/set',
    {
      onRequest: authentication.requires('admin'),
      schema: {
        ...described({
          tag: 'counters',
          id: 'setCounter',
          summary: 'Set a counter to a number',
          description: 'A window with `anchor: clock` keeps its end. All others start now.',
          scope: 'admin',
          answers: { 200: envelope(Counted, 'The counter is set.') },
          failures,
        }),
        body: SetCount,
      },
    },
    async (request) => {
      const { client_id, route, attributes, used } = request.body
      const changed = await decider.set({ clientId: client_id, route, attributes }, used, request.body.rule)
      const { policy, used: now, rule } = changed
      const after = { policy: policy.name, rule, used: now }
      await service.desk.record(callerOf(context, request), { action: 'counter.set', target: `${client_id} ${route}`, after })
      return success({ client_id, route, policy: policy.name, used: now })
    },
  )
}

/**
 * Part of deciding: a key that may spend may also refund. A refund by an admin on the dashboard is audited. A refund by a key of a lower
 * scope is not, since such a key could fill the audit log.
 */
export function refundRoute(app: App, context: RouteContext): void {
  const { service, authentication } = context
  const { decider } = service
  app.post(
    '/v1/refund',
    {
      onRequest: authentication.requires('check'),
      schema: {
        ...described({
          tag: 'counters',
          id: 'refund',
          summary: 'Refund units',
          description: 'Gives back units that were spent for something that did not happen. Never gives back more than was used.',
          scope: 'check',
          answers: { 200: envelope(Counted, 'The units are refunded.') },
          failures,
        }),
        body: Refund,
      },
    },
    async (request) => {
      const { client_id, route, attributes, cost = 1 } = request.body
      const { policy, used } = await decider.refund({ clientId: client_id, route, attributes, cost })
      if (authentication.isFromPages(request.raw) && mayUse(request.apiKey, 'admin')) {
        const after = { policy: policy.name, cost, used }
        await service.desk.record(callerOf(context, request), {
          action: 'counter.refund',
          target: `${client_id} ${route}`,
          after,
        })
      }
      return success({ client_id, route, policy: policy.name, used })
    },
  )
}

/** Reads the attributes in a query. Throws ERR_INPUT. */
function attributesIn(written: string | undefined): Attributes | undefined {
  if (written === undefined) return undefined
  const attributes = readJson(written)
  checkInput(AttributesOf, attributes, 'the query', 'attributes')
  if (hasHalf(attributes)) throw new ServerError('ERR_INPUT', 'the query: attributes has half a character: \\ud800 to \\udfff')
  return attributes
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ServerError('ERR_INPUT', `the query: attributes must be an object in JSON, got ${show(text)}`)
  }
}

function ruleUsage({ name, policy, limit, remaining, retryAfterMs, resetAfterMs }: RuleUsage) {
  return {
    name,
    policy: policy.name,
    limit,
    used: limit - remaining,
    remain: remaining,
    reset_in_second: Math.ceil(resetAfterMs / 1000),
    retry_after_ms: retryAfterMs === Number.POSITIVE_INFINITY ? null : retryAfterMs,
  }
}
