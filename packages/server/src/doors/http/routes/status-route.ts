// Status of the service and its store, for the strip at the top of the dashboard.

import Type from 'typebox'
import { envelope } from '../../../contract/schemas.ts'
import { BACKEND_KINDS } from '../../../service.ts'
import type { Histogram } from '../../../stats/histogram.ts'
import { success } from '../plumbing/envelope.ts'
import { RecordsView, recordsView } from '../plumbing/records-view.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'

const HistogramView = Type.Object({
  bounds: Type.Array(Type.Number(), { description: 'Upper bounds in seconds, ascending.' }),
  counts: Type.Array(Type.Integer(), {
    description: 'Counts since the start: one for each bound, and one for values above all bounds. Not cumulative.',
  }),
})

const StatusView = Type.Object({
  version: Type.String(),
  state: Type.Enum(['starting', 'ready', 'draining']),
  started_at: Type.String({ format: 'date-time' }),
  policies: Type.Integer({ description: 'Policies in force.' }),
  store: Type.Object({
    kind: Type.Enum([...BACKEND_KINDS]),
    up: Type.Boolean({ description: 'True if the store answers.' }),
    breaker_open: Type.Boolean({ description: 'True while the store is not called because it failed too often.' }),
    failure_mode: Type.Enum(['local', 'allow', 'deny', 'throw'], { description: 'The fallback if the store does not answer.' }),
    counters: Type.Union([Type.Integer(), Type.Null()], { description: 'Number of counters; null if the store cannot tell.' }),
    failures: Type.Integer({ description: 'Failed calls since the start.' }),
    seconds: HistogramView,
  }),
  records: RecordsView,
  fallback_decisions: Type.Integer({ description: 'Decisions made without the store, since the start.' }),
  check_seconds: HistogramView,
})

export function statusRoute(app: App, { service, authentication }: RouteContext): void {
  const { stats, decider, storeFacts, policies, version, status } = service
  app.get(
    '/v1/status',
    {
      onRequest: authentication.requires('read'),
      schema: described({
        tag: 'figures',
        id: 'getStatus',
        summary: 'See the status of the service and its store',
        description: 'The status of this instance.',
        scope: 'read',
        answers: { 200: envelope(StatusView, 'The status.') },
      }),
    },
    (_request, reply) => {
      const { health } = decider
      const failures = [...health.failures.values()].reduce((sum, count) => sum + count, 0)
      reply.send(
        success({
          version,
          state: status.state,
          started_at: new Date(stats.startedMs).toISOString(),
          policies: policies.book.size,
          store: {
            kind: storeFacts.kind,
            up: health.isUp,
            breaker_open: health.isBreakerOpen,
            failure_mode: storeFacts.failureMode,
            counters: storeFacts.size() ?? null,
            failures,
            seconds: view(health.hitSeconds),
          },
          records: recordsView(service),
          fallback_decisions: stats.fallbacks,
          check_seconds: view(stats.checkSeconds),
        }),
      )
    },
  )
}

function view({ bounds, counts }: Histogram) {
  return { bounds: [...bounds], counts: [...counts] }
}
