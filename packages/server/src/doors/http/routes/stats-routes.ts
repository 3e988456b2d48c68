// Statistics for the dashboard: the last hour by the second, the last month by the hour, the busiest clients, and one client by the minute.

import {
  ActivityQuery,
  ActivityView,
  HistoryQuery,
  HistoryView,
  StatsQuery,
  StatsView,
  TopQuery,
  TopView,
} from '../../../contract/figure-schemas.ts'
import { envelope } from '../../../contract/schemas.ts'
import { ServerError } from '../../../errors.ts'
import { show } from '../../../input/near-word.ts'
import type { PolicyStats } from '../../../stats/policy-stats.ts'
import { COLUMNS, type Column, HOUR_SECONDS, RING_HOURS, RING_SECONDS } from '../../../stats/second-ring.ts'
import type { Stats } from '../../../stats/stats.ts'
import { MINUTE_MS, READ_MINUTES } from '../../../stats/top-clients.ts'
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
      const statistics = statisticsOf(stats, policy)
      const last = Math.floor(stats.now() / 1000)
      const from = last - seconds + 1
      const figures = figuresOf(stats, statistics, from, ({ ring }, column) => ring.read(column, last, seconds))
      const since_start = { started_at: new Date(stats.startedMs).toISOString(), ...statistics.totals() }
      reply.send(success({ from, seconds, ...figures, since_start }))
    },
  )

  app.get(
    '/v1/history',
    {
      onRequest,
      schema: {
        ...described({
          tag: 'figures',
          id: 'getHistory',
          summary: 'See the last month, hour by hour',
          description:
            'Statistics of this instance since its start, in UTC. The last hour is still running. A restart begins with an empty history.',
          scope: 'read',
          answers: { 200: envelope(HistoryView, 'The statistics.') },
          failures: [400, 404],
        }),
        querystring: HistoryQuery,
      },
    },
    ({ query: { hours = RING_HOURS, policy } }, reply) => {
      const last = Math.floor(stats.now() / 1000 / HOUR_SECONDS)
      const from = (last - hours + 1) * HOUR_SECONDS
      const read = (each: PolicyStats, column: Column) => each.hours.read(column, last, hours)
      const figures = figuresOf(stats, statisticsOf(stats, policy), from, read)
      const started_at = new Date(stats.startedMs).toISOString()
      reply.send(success({ from, hours, ...figures, started_at }))
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

  app.get(
    '/v1/activity',
    {
      onRequest,
      schema: {
        ...described({
          tag: 'figures',
          id: 'getActivity',
          summary: 'See the last hour of one client, minute by minute',
          description:
            'Statistics of this instance, counted in the bounded memory of `/v1/top`. A check that is denied in shadow mode counts as allowed. ' +
            'A count is never too high, and the bounds of missing checks are 0 while at most 512 different clients come in ten minutes.',
          scope: 'read',
          answers: { 200: envelope(ActivityView, 'The checks of the client.') },
          failures: [400],
        }),
        querystring: ActivityQuery,
      },
    },
    ({ query: { client_id } }, reply) => {
      const nowMs = stats.now()
      const allowed = stats.allowedClients.readClient(client_id, nowMs)
      const denied = stats.deniedClients.readClient(client_id, nowMs)
      reply.send(
        success({
          client_id,
          from: (Math.floor(nowMs / MINUTE_MS) - READ_MINUTES + 1) * (MINUTE_MS / 1000),
          minutes: READ_MINUTES,
          allowed: allowed.minutes,
          denied: denied.minutes,
          allowed_missing_at_most: allowed.missingAtMost,
          denied_missing_at_most: denied.missingAtMost,
          started_at: new Date(stats.startedMs).toISOString(),
        }),
      )
    },
  )
}

function statisticsOf(stats: Stats, policy: string | undefined): PolicyStats {
  const statistics = policy === undefined ? stats.total : stats.policies().find(({ name }) => name === policy)
  if (statistics !== undefined) return statistics
  throw new ServerError('ERR_NOT_FOUND', `there are no statistics of a policy called ${show(policy)}`)
}

/** The series of one policy or of all, and the sums of each policy over the same time since the second `from`, busiest first. */
function figuresOf(stats: Stats, statistics: PolicyStats, from: number, read: (of: PolicyStats, column: Column) => number[]) {
  const sums = stats.policies().map((each) => ({
    name: each.name,
    ...(Object.fromEntries(COLUMNS.map((column) => [column, sum(read(each, column))])) as Record<Column, number>),
  }))
  sums.sort((a, b) => b.allowed + b.denied - (a.allowed + a.denied))
  const series = Object.fromEntries(COLUMNS.map((column) => [column, read(statistics, column)]))
  return { ...series, policies: sums, policies_complete: stats.isCompleteSince(from) }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
