// The caller of an HTTP request, for the change desk.

import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../../desk/caller.ts'
import type { RouteContext } from './route-options.ts'

/** Precondition: the request is authenticated. */
export function callerOf({ authentication }: RouteContext, request: FastifyRequest): Caller {
  const { id, name, scopes } = request.apiKey
  return { id, name, scopes, address: authentication.addressOf(request.raw), requestId: request.id }
}
