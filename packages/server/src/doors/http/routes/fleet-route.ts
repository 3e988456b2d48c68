// Statistics of all instances that share the database.

import { FleetView } from '../../../contract/figure-schemas.ts'
import { envelope } from '../../../contract/schemas.ts'
import type { FleetInstance } from '../../../fleet/fleet-view.ts'
import { SERIES_SECONDS } from '../../../fleet/instance-report.ts'
import { success } from '../plumbing/envelope.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'

export function fleetRoute(app: App, { service, authentication }: RouteContext): void {
  app.get(
    '/v1/fleet',
    {
      onRequest: authentication.requires('read'),
      schema: described({
        tag: 'figures',
        id: 'getFleet',
        summary: 'See all instances together',
        description:
          'Instances that share a database publish a report every five seconds, or less often if there are more than 50. So the newest ' +
          'seconds of the series are not complete. Each instance counts seconds by its own clock. Without a shared database, the fleet is this instance.',
        scope: 'read',
        answers: { 200: envelope(FleetView, 'The statistics of the fleet.') },
      }),
    },
    async () => {
      const { instances, unreadable, up, totals, lastSecond, series, policies, problem = null } = await service.fleet.view()
      const from = lastSecond - SERIES_SECONDS + 1
      const sums = { unreadable, up, totals, from, seconds: SERIES_SECONDS, ...series, policies, problem }
      return success({ instances: instances.map(view), ...sums })
    },
  )
}

/** Seconds over which the present rate of an instance is measured. */
const RATE_SECONDS = 60

function view({ id, isSelf, state, ageMs, report }: FleetInstance) {
  const { version, startedMs, totals, series } = report
  const latest = Object.values(series).flatMap((counts) => counts.slice(-RATE_SECONDS))
  return {
    id,
    self: isSelf,
    version,
    state,
    started_at: new Date(startedMs).toISOString(),
    seen_ms_ago: ageMs,
    ...totals,
    per_second: latest.reduce((sum, count) => sum + count, 0) / RATE_SECONDS,
  }
}
