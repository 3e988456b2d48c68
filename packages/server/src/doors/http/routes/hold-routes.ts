// Holds: reserve units, and settle, cancel or extend them later.
// Invariant: a decided reserve gets status 200, also for Deny, as a check does.

import type { Duration } from 'sluice'
import { Cancel, Cancelled, Extend, Extended, Reserve, Reserved, Settle, Settled } from '../../../contract/hold-schemas.ts'
import { LIMITS } from '../../../contract/limits.ts'
import { envelope } from '../../../contract/schemas.ts'
import { TOKEN_TOO_LONG } from '../../../decide/reservations.ts'
import { ServerError } from '../../../errors.ts'
import { HoldTokens } from '../../hold-token.ts'
import { rateLimitHeaders } from '../../rate-limit-headers.ts'
import { reserveAnswer } from '../plumbing/check-answer.ts'
import { JSON_TYPE, success } from '../plumbing/envelope.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'

const failures = [400, 409, 413, 415, 503]

export function holdRoutes(app: App, { service, authentication }: RouteContext): void {
  const { decider, keys } = service
  const tokens = new HoldTokens(keys)
  const onRequest = authentication.requires('check')

  app.post(
    '/v1/reserve',
    {
      onRequest,
      schema: {
        ...described({
          tag: 'deciding',
          id: 'reserve',
          summary: 'Hold units until it is known what was used',
          description:
            'Decides over all rules of the policy at once, as a check does. Rules in `hold` and concurrency rules are held, the others are charged. ' +
            'Answers 200 whenever it decided. For Allow, `data.token` names the hold: settle it with what was used, or cancel it. ' +
            'A hold that nobody ends expires at `data.expires_at`.',
          scope: 'check',
          answers: { 200: envelope(Reserved, 'It was decided.') },
          failures,
        }),
        body: Reserve,
      },
    },
    async ({ body, apiKey }, reply) => {
      const { client_id: clientId, at_least: atLeast, ttl, ...options } = body
      const named = { ...(atLeast !== undefined && { atLeast }), ...(ttl !== undefined && { ttl: ttl as Duration }) }
      const result = await decider.holds.reserve({ ...options, ...named, clientId })
      const token = result.hold && tokens.write(apiKey, result.hold)
      if (result.hold !== undefined && (token as string).length > LIMITS.longestToken) {
        await decider.holds.cancel(result.hold)
        throw new ServerError('ERR_INPUT', TOKEN_TOO_LONG)
      }
      return reply.headers(rateLimitHeaders(result)).header('content-type', JSON_TYPE).send(reserveAnswer(result, token))
    },
  )

  app.post(
    '/v1/settle',
    {
      onRequest,
      bodyLimit: LIMITS.mostTokenBytes,
      schema: {
        ...described({
          tag: 'deciding',
          id: 'settle',
          summary: 'End a hold and charge what was used',
          description:
            'Charges `used` now, also past the limit. Without `used`, all held units are charged. A hold ends once: a second settle or cancel, ' +
            'on any instance, is refused with ERR_HOLD.',
          scope: 'check',
          answers: { 200: envelope(Settled, 'The hold has ended.') },
          failures,
        }),
        body: Settle,
      },
    },
    async ({ body: { token, used }, apiKey }) => {
      const named = tokens.read(apiKey, token)
      const settled = await decider.holds.settle(named, used)
      return success({ client_id: named.clientId, route: named.route, policy: settled.policy.name, used: settled.used })
    },
  )

  app.post(
    '/v1/cancel',
    {
      onRequest,
      bodyLimit: LIMITS.mostTokenBytes,
      schema: {
        ...described({
          tag: 'deciding',
          id: 'cancel',
          summary: 'End a hold and charge nothing',
          scope: 'check',
          answers: { 200: envelope(Cancelled, 'The hold has ended.') },
          failures,
        }),
        body: Cancel,
      },
    },
    async ({ body: { token }, apiKey }) => {
      const named = tokens.read(apiKey, token)
      const { name } = await decider.holds.cancel(named)
      return success({ client_id: named.clientId, route: named.route, policy: name })
    },
  )

  app.post(
    '/v1/extend',
    {
      onRequest,
      bodyLimit: LIMITS.mostTokenBytes,
      schema: {
        ...described({
          tag: 'deciding',
          id: 'extend',
          summary: 'Let a hold expire later',
          scope: 'check',
          answers: { 200: envelope(Extended, 'The hold expires at `data.expires_at`.') },
          failures,
        }),
        body: Extend,
      },
    },
    async ({ body: { token, ttl }, apiKey }) => {
      const named = tokens.read(apiKey, token)
      const { policy, expiresAt } = await decider.holds.extend(named, ttl as Duration)
      const expires_at = expiresAt === undefined ? null : new Date(expiresAt).toISOString()
      return success({ client_id: named.clientId, route: named.route, policy: policy.name, expires_at })
    },
  )
}
