// Operations: liveness, readiness, metrics.

import type { Static } from 'typebox'
import { AliveView, ReadyView } from '../../../contract/figure-schemas.ts'
import { envelope, failureEnvelope } from '../../../contract/schemas.ts'
import { SERVER_ERROR_CODES } from '../../../errors.ts'
import type { Service } from '../../../service.ts'
import { EXPOSITION_TYPE } from '../../../stats/exposition.ts'
import { metricsText } from '../metrics.ts'
import { failure, success } from '../plumbing/envelope.ts'
import { recordsState } from '../plumbing/records-view.ts'
import { type App, content, described, type RouteContext } from '../plumbing/route-options.ts'

/** Served by every listener. */
export function healthRoutes(app: App, { service }: RouteContext): void {
  app.get(
    '/livez',
    {
      schema: described({
        tag: 'operations',
        id: 'getLiveness',
        summary: 'Is the process alive?',
        answers: { 200: envelope(AliveView, 'The process is alive.') },
      }),
    },
    (_request, reply) => {
      reply.send(success({ state: 'alive' }))
    },
  )

  app.get(
    '/readyz',
    {
      schema: described({
        tag: 'operations',
        id: 'getReadiness',
        summary: 'Is the service ready for requests?',
        description:
          'If the store does not answer, the service is unready only with failure mode `throw`. Lost records do not make it unready: every instance goes on with the policies and keys that it knows.',
        answers: {
          200: envelope(ReadyView, 'It is ready.'),
          503: failureEnvelope(ReadyView, 'It is not ready. `state` has the reason.'),
        },
      }),
    },
    (_request, reply) => {
      const state = readiness(service)
      const data = { state, store: service.storeFacts.kind, records: recordsState(service) }
      if (state === 'ready' || state === 'degraded') return reply.send(success(data))
      const error = state === 'store-down' ? 'ERR_STORE' : 'ERR_NOT_READY'
      const { status, meaning } = SERVER_ERROR_CODES[error]
      return reply.code(status).send({ ...failure(status, error, meaning), data })
    },
  )
}

export function metricsRoute(app: App, { service, authentication }: RouteContext): void {
  app.get(
    '/metrics',
    {
      onRequest: authentication.requires('read'),
      schema: described({
        tag: 'operations',
        id: 'getMetrics',
        summary: 'Metrics for Prometheus',
        scope: 'read',
        answers: { 200: content('text/plain', 'The text format, version 0.0.4.') },
      }),
    },
    (_request, reply) => {
      reply.header('content-type', EXPOSITION_TYPE).send(metricsText(service))
    },
  )
}

function readiness({ status, storeFacts, decider }: Service): Static<typeof ReadyView>['state'] {
  if (status.state !== 'ready') return status.state
  if (decider.health.isUp) return 'ready'
  return storeFacts.failureMode === 'throw' ? 'store-down' : 'degraded'
}
