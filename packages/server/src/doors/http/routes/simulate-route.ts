// A simulation of proposed policies on the checks of the last hour.
// Invariant: one simulation runs at a time, other requests are answered meanwhile, and a simulation ends when its caller has gone.

import { envelope } from '../../../contract/schemas.ts'
import { SimulationBody, SimulationView } from '../../../contract/simulation-schemas.ts'
import { ServerError } from '../../../errors.ts'
import { simulateRecent } from '../../../simulate/replay/recent-traffic.ts'
import { reportOf } from '../../../simulate/report/report.ts'
import { success } from '../plumbing/envelope.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'

const DEFAULT_TOP = 20

export function simulateRoute(app: App, { service, authentication }: RouteContext): void {
  const { stats, policies, fleet } = service
  let isRunning = false

  app.post(
    '/v1/simulate',
    {
      onRequest: authentication.requires('admin'),
      schema: {
        ...described({
          tag: 'policies',
          id: 'simulatePolicies',
          summary: 'See whom proposed policies would deny',
          description:
            'Replays the checks that this instance decided in the last hour, or those of a sample of the clients, under proposed policies and beside the ones in force. ' +
            'Nothing is changed. Counters start empty. Checks whose limit came with the call, as those of CL.THROTTLE, are not replayed.',
          scope: 'admin',
          answers: { 200: envelope(SimulationView, 'The report.') },
          failures: [400, 409, 413, 415],
        }),
        body: SimulationBody,
      },
    },
    async ({ body: { policies: changes = [], without = [], top = DEFAULT_TOP }, raw }, reply) => {
      if (isRunning) throw new ServerError('ERR_BUSY', 'another simulation is running: try again when it has ended')
      isRunning = true
      const gone = new AbortController()
      const onClose = (): void => gone.abort()
      reply.raw.once('close', onClose)
      // A client that has gone only ends its side: our side closes with the answer.
      raw.socket.once('end', onClose)
      try {
        const sample = stats.recent.read(stats.now())
        const simulation = await simulateRecent({ sample, current: policies.book, changes, without, signal: gone.signal })
        const { other_clients: _others, evictions: _evictions, late: _late, log: _log, ...report } = reportOf(simulation, top)
        const { decided, share, missed, sinceMs } = sample
        const since = new Date(Math.max(sinceMs, stats.startedMs)).toISOString()
        const instance = { instance: fleet.id, instances_up: fleet.up }
        return success({ sample: { ...instance, decided, share, missed, since }, ...report })
      } catch (error) {
        if (!gone.signal.aborted) throw error
        return reply.hijack()
      } finally {
        reply.raw.off('close', onClose)
        raw.socket.off('end', onClose)
        isRunning = false
      }
    },
  )
}
