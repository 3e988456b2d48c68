// Writes administrative changes to the audit log, with the actor and the address.

import type { FastifyRequest } from 'fastify'
import type { AuditEntry } from '../../../audit/audit-entry.ts'
import { messageOf, ServerError } from '../../../errors.ts'
import type { ChangeNote } from '../../../records.ts'
import type { RouteContext } from './route-options.ts'

type Fields = Pick<AuditEntry, 'action' | 'target' | 'before' | 'after'>

/** Resolves when the entry is on disk or in the database. The change itself is already made at that point. */
export async function audited(context: RouteContext, request: FastifyRequest, fields: Fields): Promise<void> {
  await append(context, noteOf(context, request, fields))
}

/**
 * Makes a change of policies or keys. `change` makes the note about it and passes it on to the records. The entry is stored in the
 * transaction of the change if the records can do that, otherwise after it.
 */
export async function auditedChange<T>(
  context: RouteContext,
  request: FastifyRequest,
  change: (note: (fields: Fields) => ChangeNote) => Promise<T>,
): Promise<T> {
  // An attempt that lost against another instance has made a note too.
  const notes: ChangeNote[] = []
  const made = await change((fields) => {
    const note = noteOf(context, request, fields)
    notes.push(note)
    return note
  })
  const last = notes.at(-1)
  if (last !== undefined) await append(context, last)
  return made
}

function noteOf({ authentication }: RouteContext, request: FastifyRequest, fields: Fields): ChangeNote {
  const address = authentication.addressOf(request.raw)
  return { entry: { actor: request.apiKey.id, ...fields, requestId: request.id, address }, isStored: false }
}

async function append({ service }: RouteContext, note: ChangeNote): Promise<void> {
  try {
    await service.audit.appendNote(note)
  } catch (error) {
    throw new ServerError('ERR_AUDIT', `the change was made, but is not in the audit log: ${messageOf(error)}`, { cause: error })
  }
}
