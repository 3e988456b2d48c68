// Part of administration: the open holds of a client that this instance knows, and their cancellation by an admin.

import { CancelById, CancelledById, HoldsQuery, OpenHolds } from '../../../contract/hold-schemas.ts'
import { LIMITS } from '../../../contract/limits.ts'
import { envelope } from '../../../contract/schemas.ts'
import { ServerError } from '../../../errors.ts'
import { show } from '../../../input/near-word.ts'
import { callerOf } from '../plumbing/caller-of.ts'
import { success } from '../plumbing/envelope.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'

export function knownHoldRoutes(app: App, context: RouteContext): void {
  const { service, authentication } = context
  const { decider } = service

  app.get(
    '/v1/holds',
    {
      onRequest: authentication.requires('read'),
      schema: {
        ...described({
          tag: 'counters',
          id: 'getHolds',
          summary: 'See the open holds of a client',
          description:
            'Holds that the answering instance opened and has not seen the end of. One that another instance ended is listed until it expires.',
          scope: 'read',
          answers: { 200: envelope(OpenHolds, 'The latest first.') },
          failures: [400],
        }),
        querystring: HoldsQuery,
      },
    },
    ({ query: { client_id } }, reply) => {
      const known = decider.holds.ofClient(client_id)
      const holds = known.slice(0, LIMITS.mostHolds).map(({ id, route, policy, granted, openedAt, expiresAt }) => ({
        id,
        route,
        policy,
        granted,
        opened_at: new Date(openedAt).toISOString(),
        expires_at: new Date(expiresAt).toISOString(),
      }))
      reply.send(success({ client_id, known_by: 'instance' as const, open: known.length, holds }))
    },
  )

  app.post(
    '/v1/holds/cancel',
    {
      onRequest: authentication.requires('admin'),
      schema: {
        ...described({
          tag: 'counters',
          id: 'cancelHold',
          summary: 'Cancel an open hold of the list',
          description: 'Ends the hold and charges nothing. The settle of its owner is refused afterwards.',
          scope: 'admin',
          answers: { 200: envelope(CancelledById, 'The hold has ended.') },
          failures: [400, 409, 413, 415, 503],
        }),
        body: CancelById,
      },
    },
    async (request) => {
      const { id } = request.body
      const hold = decider.holds.get(id)
      if (hold === undefined) throw new ServerError('ERR_HOLD', `this instance knows no open hold with the id ${show(id)}`)
      const { clientId: client_id, route, granted } = hold
      const policy = await decider.holds.cancel(hold)
      const after = { policy: policy.name, hold: id, granted }
      await service.desk.record(callerOf(context, request), { action: 'hold.cancel', target: `${client_id} ${route}`, after })
      return success({ client_id, route, policy: policy.name, id, granted })
    },
  )
}
