// Policies and keys that Redis has lost: seen, and put back.

import Type from 'typebox'
import type { RestoreReport } from '../../service.ts'
import { againOnConflict } from '../again-on-conflict.ts'
import { audited } from '../audited.ts'
import { success } from '../envelope.ts'
import { namesOf, RecordsView, RestoreView, recordsState, recordsView } from '../records-view.ts'
import { type App, described, type RouteContext } from '../route-options.ts'
import { envelope, strict } from '../schemas.ts'

const Restore = Type.Object(
  { dry_run: Type.Optional(Type.Boolean({ title: 'true or false', description: 'Only say what would be done.' })) },
  strict,
)

const NOTHING: RestoreReport = { written: [], revoked: [], removed: [], kept: [], isExact: true }

export function recordsRoutes(app: App, context: RouteContext): void {
  const { service, authentication } = context
  app.get(
    '/v1/records',
    {
      onRequest: authentication.requires('read'),
      schema: described({
        tag: 'operations',
        id: 'getRecords',
        summary: 'See whether policies and keys were lost',
        description: 'As this instance sees it.',
        scope: 'read',
        answers: { 200: envelope(RecordsView, 'Whether they were.') },
      }),
    },
    (_request, reply) => {
      reply.send(success(recordsView(service)))
    },
  )

  app.post(
    '/v1/records/restore',
    {
      onRequest: authentication.requires('admin'),
      schema: {
        ...described({
          tag: 'operations',
          id: 'restoreRecords',
          summary: 'Put lost policies and keys back',
          description:
            'Writes the policies and keys that this instance knows into a Redis that lost them. A key that was revoked stays revoked, a policy that was deleted stays deleted, and changes that were made after the loss stay. Does nothing if nothing is lost. A request without a body means `{}`.',
          scope: 'admin',
          answers: { 200: envelope(RestoreView, 'What was done, or would be.') },
          failures: [400, 409, 413, 415, 500, 503],
        }),
        body: Restore,
      },
      preValidation: async (request) => {
        // A request without a body asks for the default.
        if (request.body === undefined) request.body = {}
      },
    },
    async (request) => {
      const { dry_run: dryRun = false } = request.body
      const loss = service.records.loss()
      const done = await againOnConflict(() => service.records.restore({ dryRun }))
      const { isExact, ...lists } = done ?? NOTHING
      const { written, revoked, removed, kept } = lists
      if (done !== undefined && !dryRun) {
        const counts = { written: written.length, revoked: revoked.length, removed: removed.length, kept: kept.length }
        const before = { known_changes: loss?.known, found_changes: loss?.found }
        await audited(context, request, {
          action: 'records.restore',
          target: 'redis',
          before,
          after: { ...counts, exact: isExact },
        })
      }
      return success({
        state: recordsState(service),
        dry_run: dryRun,
        written: namesOf(written),
        revoked: namesOf(revoked),
        removed: namesOf(removed),
        kept: namesOf(kept),
        exact: isExact,
      })
    },
  )
}
