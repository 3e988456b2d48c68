// Status of the service and its store, for the strip at the top of the dashboard.

import { StatusView } from '../../../contract/figure-schemas.ts'
import { envelope } from '../../../contract/schemas.ts'
import type { Histogram } from '../../../stats/histogram.ts'
import { success } from '../plumbing/envelope.ts'
import { recordsView } from '../plumbing/records-view.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'

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
