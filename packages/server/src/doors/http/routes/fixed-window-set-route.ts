// The older form of changing a limit: a fixed window with `anchor: clock` for one client and route.

import { createHash } from 'node:crypto'
import Type from 'typebox'
import { ClientId, envelope, Route, strict } from '../../../contract/schemas.ts'
import { ServerError } from '../../../errors.ts'
import { show } from '../../../input/near-word.ts'
import { callerOf } from '../plumbing/caller-of.ts'
import { success } from '../plumbing/envelope.ts'
import { headerClientId } from '../plumbing/header-text.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'

const MOST_SECONDS = 10 * 366 * 86_400

export function fixedWindowSetRoute(app: App, context: RouteContext): void {
  const { policies, desk } = context.service
  app.put(
    '/api/v1/rate/fixed-window/set',
    {
      onRequest: context.authentication.requires('admin'),
      schema: {
        ...described({
          tag: 'older',
          id: 'setFixedWindow',
          summary: 'Set the limit of one client and route, in the older form',
          description: 'Creates or changes the policy for exactly this client and route. Usage in the current window is kept.',
          scope: 'admin',
          answers: {
            200: envelope(
              Type.Object({ client_id: Type.String(), route: Type.String(), limit: Type.Integer(), window: Type.Integer() }),
              'The limit is set.',
            ),
          },
          failures: [400, 409, 413, 415, 503],
        }),
        headers: Type.Object({ 'x-client-id': ClientId }),
        body: Type.Object(
          {
            route: Route,
            limit: Type.Integer({ title: 'a whole number of at least 1', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
            window: Type.Integer({ title: `whole seconds, 1 to ${MOST_SECONDS}`, minimum: 1, maximum: MOST_SECONDS }),
          },
          strict,
        ),
      },
    },
    async (request) => {
      const client = headerClientId(request.headers['x-client-id'])
      const { route, limit, window } = request.body
      // A pattern would change the limit of other clients or routes as well.
      const several = [client, route].find((text) => text.endsWith('*'))
      if (several !== undefined) {
        throw new ServerError(
          'ERR_INPUT',
          `this sets the limit of one client and one route, but ${show(several)} is a pattern for several`,
        )
      }
      const rules = { algorithm: 'fixed-window', limit, window: window * 1000, anchor: 'clock' }
      const known = policies.book.withPatterns(client, route)?.spec ?? { name: nameFor(client, route), client, route }
      await desk.policies.put(callerOf(context, request), { ...known, rules })
      return success({ client_id: client, route, limit, window })
    },
  )
}

/** Returns a policy name that does not reveal the client and route, because names appear in metrics. */
function nameFor(client: string, route: string): string {
  return `set-${createHash('sha256')
    .update(JSON.stringify([client, route]))
    .digest('hex')
    .slice(0, 24)}`
}
