// How the service and its store do, for a strip at the top of a page.

import Type from 'typebox'
import type { Histogram } from '../../stats/histogram.ts'
import { success } from '../envelope.ts'
import { RecordsView, recordsView } from '../records-view.ts'
import { type App, described, type RouteContext } from '../route-options.ts'
import { envelope } from '../schemas.ts'

const HistogramView = Type.Object({
  bounds: Type.Array(Type.Number(), { description: 'Rising, in seconds.' }),
  counts: Type.Array(Type.Integer(), {
    description: 'Since the start: one for each bound, and one for what lies above all. Not summed up.',
  }),
})

const StatusView = Type.Object({
  version: Type.String(),
  state: Type.Enum(['starting', 'ready', 'draining']),
  started_at: Type.String({ format: 'date-time' }),
  policies: Type.Integer({ description: 'Policies in force.' }),
  store: Type.Object({
    kind: Type.Enum(['memory', 'redis']),
    up: Type.Boolean({ description: 'Whether it answers.' }),
    breaker_open: Type.Boolean({ description: 'Whether it is not asked at the moment, because it failed too often.' }),
    failure_mode: Type.Enum(['local', 'allow', 'deny', 'throw'], { description: 'Who answers when it does not.' }),
    counters: Type.Union([Type.Integer(), Type.Null()], { description: 'How many it holds; null: it cannot tell.' }),
    failures: Type.Integer({ description: 'Calls that it failed, since the start.' }),
    seconds: HistogramView,
  }),
  records: RecordsView,
  fallback_decisions: Type.Integer({ description: 'Decisions that were made without the store, since the start.' }),
  check_seconds: HistogramView,
})

export function statusRoute(app: App, { service, authentication }: RouteContext): void {
  const { stats, decider, store, policies, version, status } = service
  app.get(
    '/v1/status',
    {
      onRequest: authentication.requires('read'),
      schema: described({
        tag: 'figures',
        id: 'getStatus',
        summary: 'See how the service and its store do',
        description: 'Of this instance.',
        scope: 'read',
        answers: { 200: envelope(StatusView, 'How they do.') },
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
            kind: store.kind,
            up: health.isUp,
            breaker_open: health.isBreakerOpen,
            failure_mode: store.failureMode,
            counters: store.size() ?? null,
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
