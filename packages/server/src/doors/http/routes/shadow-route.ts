// The report of a policy in shadow mode: the checks that it would have denied.

import { PolicyPath, ShadowQuery, ShadowView } from '../../../contract/policy-schemas.ts'
import { envelope } from '../../../contract/schemas.ts'
import { ServerError } from '../../../errors.ts'
import { figuresOf } from '../../../fleet/published-shadows.ts'
import { shadowSums } from '../../../fleet/shadow-sums.ts'
import { show } from '../../../input/near-word.ts'
import { etagOf } from '../../../policies/policy-etag.ts'
import { success } from '../plumbing/envelope.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'

const DEFAULT_CLIENTS = 20

export function shadowRoute(app: App, { service, authentication }: RouteContext): void {
  const { stats, policies, fleet } = service

  app.get(
    '/v1/policies/:name/shadow',
    {
      onRequest: authentication.requires('read'),
      schema: {
        ...described({
          tag: 'policies',
          id: 'getShadowReport',
          summary: 'See what a policy in shadow mode would have denied',
          description:
            'Counts since the first check under the policy as it is now, of all instances that share the database. A change of the policy begins anew. ' +
            'An instance counts since its start, and those of other instances are up to some seconds old.',
          scope: 'read',
          answers: { 200: envelope(ShadowView, 'The report.') },
          failures: [400, 404],
        }),
        params: PolicyPath,
        querystring: ShadowQuery,
      },
    },
    async ({ params: { name }, query: { limit = DEFAULT_CLIENTS } }, reply) => {
      const policy = policies.book.get(name)
      if (policy === undefined) throw new ServerError('ERR_POLICY_UNKNOWN', `no policy is called ${show(name)}`)
      if (policy.mode !== 'shadow') throw new ServerError('ERR_NOT_FOUND', `the policy ${show(name)} is not in shadow mode`)
      const etag = etagOf(policy)
      const view = await fleet.view()
      const counts = stats.shadows.get(policy)
      const own = counts && figuresOf(counts, Number.POSITIVE_INFINITY)
      const { sinceMs, checks, denied, rules, clients, unlistedAtMost, instances, uncounted } = shadowSums(
        view,
        { name, etag },
        own,
      )
      return reply.header('etag', etag).send(
        success({
          ...{ policy: name, etag, since: timeText(sinceMs), checks, denied },
          rules: Object.entries(rules).map(([rule, count]) => ({ name: rule, denied: count })),
          clients: clients
            .slice(0, limit)
            .map(({ clientId, denied: count, error }) => ({ client_id: clientId, denied: count, error })),
          unlisted_at_most: Math.max(unlistedAtMost, clients[limit]?.denied ?? 0),
          instances: instances.map(({ id, isSelf, figures }) => ({
            ...{ id, self: isSelf, since: timeText(figures?.sinceMs) },
            ...{ checks: figures?.checks ?? 0, denied: figures?.denied ?? 0 },
          })),
          uncounted_instances: uncounted,
          problem: view.problem ?? null,
        }),
      )
    },
  )
}

function timeText(timeMs: number | undefined): string | null {
  return timeMs === undefined ? null : new Date(timeMs).toISOString()
}
