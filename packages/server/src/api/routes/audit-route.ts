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
          id: 'readAudit',
          summary: 'Read the audit log',
          description:
            'Every administrative change, or every sign-in to the pages, newest first. With a target a page may hold fewer entries than asked for, and still have a next.',
          scope: 'admin',
          answers: { 200: envelope(Type.Object({ entries: Type.Array(AuditEntry), next: Next }), 'A page of entries.') },
          failures: [400],
        }),
        querystring: Type.Object(
          {
            of: Type.Optional(
              Type.Enum(['changes', 'sign-ins'], {
                description: 'Administrative changes, or sign-ins to the pages, refused ones included; changes by default.',
              }),
            ),
            before: Type.Optional(Cursor),
            target: Type.Optional(
              Type.String({
                minLength: 1,
                maxLength: 4096,
                description:
                  'Only what was done to this: the name of a policy, the id of a key, or a client and a route with a space between.',
              }),
            ),
            limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'How many at most; 100 by default.' })),
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
