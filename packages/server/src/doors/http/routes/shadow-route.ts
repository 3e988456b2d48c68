// The report of a policy in shadow mode: the checks that it would have denied.

import { PolicyPath, ShadowQuery, ShadowView } from '../../../contract/policy-schemas.ts'
import { envelope } from '../../../contract/schemas.ts'
import { ServerError } from '../../../errors.ts'
import { show } from '../../../input/near-word.ts'
import { success } from '../plumbing/envelope.ts'
import { etagOf } from '../plumbing/policy-etag.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'

const DEFAULT_CLIENTS = 20

export function shadowRoute(app: App, { service, authentication }: RouteContext): void {
  const { stats, policies } = service

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
            'Counts of this instance since the first check under the policy as it is now. A change of the policy begins anew, and so does a start of the instance.',
          scope: 'read',
          answers: { 200: envelope(ShadowView, 'The report.') },
          failures: [400, 404],
        }),
        params: PolicyPath,
        querystring: ShadowQuery,
      },
    },
    ({ params: { name }, query: { limit = DEFAULT_CLIENTS } }, reply) => {
      const policy = policies.book.get(name)
      if (policy === undefined) throw new ServerError('ERR_POLICY_UNKNOWN', `no policy is called ${show(name)}`)
      if (policy.mode !== 'shadow') throw new ServerError('ERR_NOT_FOUND', `the policy ${show(name)} is not in shadow mode`)
      const counts = stats.shadows.get(policy)
      const clients = [...(counts?.clients.items() ?? [])].map((clientId) => {
        const { count = 0, error = 0 } = counts?.clients.get(clientId) ?? {}
        return { client_id: clientId, denied: count, error }
      })
      clients.sort((a, b) => b.denied - a.denied || (a.client_id < b.client_id ? -1 : 1))
      reply.header('etag', etagOf(policy)).send(
        success({
          ...{ policy: name, etag: etagOf(policy), since: counts === undefined ? null : new Date(counts.sinceMs).toISOString() },
          ...{ checks: counts?.checks ?? 0, denied: counts?.denied ?? 0 },
          rules: [...(counts?.byRule ?? [])].map(([rule, denied]) => ({ name: rule, denied })),
          clients: clients.slice(0, limit),
          unlisted_at_most: Math.max(counts?.clients.least ?? 0, clients[limit]?.denied ?? 0),
        }),
      )
    },
  )
}
