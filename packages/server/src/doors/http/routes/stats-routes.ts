// Statistics for the dashboard: the last hour by the second, and the busiest clients.

import { StatsQuery, StatsView, TopQuery, TopView } from '../../../contract/figure-schemas.ts'
import { envelope } from '../../../contract/schemas.ts'
import { ServerError } from '../../../errors.ts'
import { show } from '../../../input/near-word.ts'
import type { PolicyStats } from '../../../stats/policy-stats.ts'
import { COLUMNS, RING_SECONDS } from '../../../stats/second-ring.ts'
import { success } from '../plumbing/envelope.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'

export function statsRoutes(app: App, { service, authentication }: RouteContext): void {
  const { stats } = service
  const onRequest = authentication.requires('read')

  app.get(
    '/v1/stats',
    {
      onRequest,
      schema: {
        ...described({
          tag: 'figures',
          id: 'getStats',
          summary: 'See the last hour, second by second',
          description:
            'Statistics of this instance. The last second is still running. Above 100 policies, the rest are counted together as `other`.',
          scope: 'read',
          answers: { 200: envelope(StatsView, 'The statistics.') },
          failures: [400, 404],
        }),
        querystring: StatsQuery,
      },
    },
    ({ query: { seconds = RING_SECONDS, policy } }, reply) => {
      const policies = stats.policies()
      const statistics = policy === undefined ? stats.total : policies.find(({ name }) => name === policy)
      if (statistics === undefined)
        throw new ServerError('ERR_NOT_FOUND', `there are no statistics of a policy called ${show(policy)}`)
      const last = Math.floor(stats.now() / 1000)
      const series = (policyStats: PolicyStats) =>
        Object.fromEntries(COLUMNS.map((column) => [column, policyStats.ring.read(column, last, seconds)]))
      const sums = policies.map((each) => ({
        name: each.name,
        ...Object.fromEntries(COLUMNS.map((column) => [column, sum(each.ring.read(column, last, seconds))])),
      })) as { name: string; allowed: number; denied: number }[]
      sums.sort((a, b) => b.allowed + b.denied - (a.allowed + a.denied))
      const since_start = { started_at: new Date(stats.startedMs).toISOString(), ...statistics.totals() }
      reply.send(success({ from: last - seconds + 1, seconds, ...series(statistics), policies: sums, since_start }))
    },
  )

  app.get(
    '/v1/top',
    {
      onRequest,
      schema: {
        ...described({
          tag: 'figures',
          id: 'getTop',
          summary: 'See the busiest clients of the last hour',
          description:
            'Statistics of this instance, counted in bounded memory. A count is never too low. `error` is the most by which it may be too high; ' +
            'it is 0 while at most 512 different clients come in ten minutes.',
          scope: 'read',
          answers: { 200: envelope(TopView, 'The busiest first.') },
          failures: [400],
        }),
        querystring: TopQuery,
      },
    },
    ({ query: { by = 'denied', limit = 10 } }, reply) => {
      const top = by === 'denied' ? stats.deniedClients : stats.allowedClients
      reply.send(success({ by, ...top.read(limit, stats.now()) }))
    },
  )
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
