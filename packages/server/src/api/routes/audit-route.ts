// Who changed what.

import Type from 'typebox'
import { success } from '../envelope.ts'
import { type App, described, type RouteContext } from '../route-options.ts'
import { AuditEntry, Cursor, envelope, Next, strict } from '../schemas.ts'

export function auditRoute(app: App, { service, authentication }: RouteContext): void {
  app.get(
    '/v1/audit',
    {
      onRequest: authentication.requires('admin'),
      schema: {
        ...described({
          tag: 'operations',
          summary: 'Read the audit log',
          description: 'Every administrative change, newest first.',
          scope: 'admin',
          answers: { 200: envelope(Type.Object({ entries: Type.Array(AuditEntry), next: Next }), 'A page of entries.') },
          failures: [400],
        }),
        querystring: Type.Object(
          {
            before: Type.Optional(Cursor),
            limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'How many at most; 100 unless said.' })),
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
