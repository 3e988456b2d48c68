// Records (policies and keys) that the store has lost: status and restore.

import { RecordsView, Restore, RestoreView } from '../../../contract/record-schemas.ts'
import { envelope } from '../../../contract/schemas.ts'
import type { RestoreReport } from '../../../records-maintenance.ts'
import { callerOf } from '../plumbing/caller-of.ts'
import { success } from '../plumbing/envelope.ts'
import { namesOf, recordsState, recordsView } from '../plumbing/records-view.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'

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
        summary: 'Check whether policies and keys were lost',
        description: 'The view of this instance.',
        scope: 'read',
        answers: { 200: envelope(RecordsView, 'The state of the records.') },
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
          summary: 'Restore lost policies and keys',
          description:
            'Writes the policies and keys that this instance knows to a store that lost them. Revoked keys stay revoked, deleted policies stay deleted, and changes after the loss are kept. Does nothing if nothing is lost. A request without a body means `{}`.',
          scope: 'admin',
          answers: { 200: envelope(RestoreView, 'The report of the restore, or the plan of a dry run.') },
          failures: [400, 409, 413, 415, 500, 503],
        }),
        body: Restore,
      },
      preValidation: async (request) => {
        if (request.body === undefined) request.body = {}
      },
    },
    async (request) => {
      const { dry_run: dryRun = false } = request.body
      const done = await service.desk.restore(callerOf(context, request), { dryRun })
      const { isExact, written, revoked, removed, kept } = done ?? NOTHING
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
