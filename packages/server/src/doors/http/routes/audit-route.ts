// Reading the audit log.

import Type from 'typebox'
import { AuditEntry, Cursor, envelope, Next, strict } from '../../../contract/schemas.ts'
import { success } from '../plumbing/envelope.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'

export function auditRoute(app: App, { service, authentication }: RouteContext): void {
  app.get(
    '/v1/audit',
    {
      onRequest: authentication.requires('admin'),
      schema: {
        ...described({
          tag: 'operations',
          id: 'readAudit',
          summary: 'Read the audit log',
          description:
            'Every administrative change, or every sign-in to the dashboard, newest first. With `target`, a page may hold fewer entries than `limit` and still have a next page.',
          scope: 'admin',
          answers: { 200: envelope(Type.Object({ entries: Type.Array(AuditEntry), next: Next }), 'A page of entries.') },
          failures: [400],
        }),
        querystring: Type.Object(
          {
            of: Type.Optional(
              Type.Enum(['changes', 'sign-ins'], {
                description: 'Administrative changes, or sign-ins to the dashboard (including refused ones). Default: changes.',
              }),
            ),
            before: Type.Optional(Cursor),
            target: Type.Optional(
              Type.String({
                minLength: 1,
                maxLength: 4096,
                description:
                  'Only entries about this target: the name of a policy, the id of a key, or a client and a route separated by a space.',
              }),
            ),
            limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Entries at most; 100 by default.' })),
          },
          strict,
        ),
      },
    },
    async ({ query }) => {
      const { entries, next = null } = await service.audit.read(query)
      return success({ entries, next })
    },
  )
}
