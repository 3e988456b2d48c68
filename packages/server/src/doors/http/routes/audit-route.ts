// Reading the audit log.

import { AuditPage, AuditQuery } from '../../../contract/audit-schemas.ts'
import { envelope } from '../../../contract/schemas.ts'
import type { Service } from '../../../service.ts'
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
            'Every administrative change, or every sign-in to the dashboard, newest first. With `target` or `search`, a page may hold fewer entries than `limit` and still have a next page: at most 20,000 entries are read for it.',
          scope: 'admin',
          answers: { 200: envelope(AuditPage, 'A page of entries.') },
          failures: [400],
        }),
        querystring: AuditQuery,
      },
    },
    async ({ query }) => {
      const { search } = query
      const searched = search === undefined ? {} : { searchedTargets: idsOfKeys(service, search.toLowerCase()) }
      const { entries, next = null, lookedAt } = await service.audit.read({ ...query, ...searched })
      return success({ entries, next, looked_at: lookedAt })
    },
  )
}

/** Returns the ids of keys with a text in their name. Entries about keys have only the id of the key. */
function idsOfKeys({ keys }: Pick<Service, 'keys'>, text: string): ReadonlySet<string> {
  return new Set(keys.list().flatMap(({ id, name }) => (name.toLowerCase().includes(text) ? id : [])))
}
