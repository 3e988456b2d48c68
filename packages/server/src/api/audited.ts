// Writes an administrative change to the audit log, with the actor and the address.

import type { FastifyRequest } from 'fastify'
import type { AuditEntry } from '../audit/audit-entry.ts'
import { messageOf, ServerError } from '../errors.ts'
import type { RouteContext } from './route-options.ts'

/** Resolves when the entry is on disk or in Redis. The change itself is already made at that point. */
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
