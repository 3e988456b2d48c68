// Writes an administrative change into the audit log, with who made it and from where.

import type { FastifyRequest } from 'fastify'
import type { AuditEntry } from '../audit/audit-entry.ts'
import { messageOf, ServerError } from '../errors.ts'
import type { RouteContext } from './route-options.ts'

/** Resolves when the entry is safe. The change itself has been made by then. */
export async function audited(
  { service, authentication }: RouteContext,
  request: FastifyRequest,
  entry: Pick<AuditEntry, 'action' | 'target' | 'before' | 'after'>,
): Promise<void> {
  const address = authentication.addressOf(request.raw)
  try {
    await service.audit.append({ actor: request.apiKey.id, ...entry, requestId: request.id, address })
  } catch (error) {
    throw new ServerError('ERR_AUDIT', `the change was made, but is not in the audit log: ${messageOf(error)}`, { cause: error })
  }
}
