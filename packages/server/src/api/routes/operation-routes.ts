// For those who run the service: is it alive, is it ready, how does it do.

import Type from 'typebox'
import { EXPOSITION_TYPE } from '../../stats/exposition.ts'
import { success } from '../envelope.ts'
import { metricsText } from '../metrics.ts'
import { RecordsState, recordsState } from '../records-view.ts'
import { type App, content, described, type RouteContext } from '../route-options.ts'
import { envelope } from '../schemas.ts'
import type { Service } from '../service.ts'

/** `degraded`: the store does not answer, and somebody stands in for it. */
type Readiness = 'ready' | 'degraded' | 'starting' | 'draining' | 'store-down'

const ReadyView = Type.Object({
  state: Type.Enum(['ready', 'degraded', 'starting', 'draining', 'store-down']),
  store: Type.Enum(['memory', 'redis']),
  records: RecordsState,
})

/** On every listener. */
export function healthRoutes(app: App, { service }: RouteContext): void {
  app.get(
    '/livez',
    {
      schema: described({
        tag: 'operations',
        summary: 'Is the process alive?',
        answers: { 200: envelope(Type.Object({ state: Type.Literal('alive') }), 'It is.') },
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
        summary: 'Does the service want requests?',
        description:
          'A store that does not answer makes it unready only if nobody may stand in for it. Records that Redis lost do not: every instance goes on with those that it knows.',
        answers: { 200: envelope(ReadyView, 'It does.'), 503: envelope(ReadyView, 'Not now: `state` says why.', 503) },
      }),
    },
    (_request, reply) => {
      const state = readiness(service)
      const code = state === 'ready' || state === 'degraded' ? 200 : 503
      reply.code(code).send(success({ state, store: service.store.kind, records: recordsState(service) }, code))
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

function readiness({ status, store, decider }: Service): Readiness {
  if (status.state !== 'ready') return status.state
  if (decider.health.isUp) return 'ready'
  return store.failureMode === 'throw' ? 'store-down' : 'degraded'
}
