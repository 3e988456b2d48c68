// Turns errors into gRPC statuses.
// Invariant: UNKNOWN is never sent, because Envoy treats an unknown answer as an allowance. A status reveals nothing internal.

import { type StatusObject, status } from '@grpc/grpc-js'
import type { Logger } from 'pino'
import { SluiceError } from 'sluice'
import { ServerError } from '../../errors.ts'

/** gRPC statuses by the HTTP status of an error. Every other error is UNAVAILABLE: nothing was decided. */
const STATUSES: Readonly<Record<number, status>> = {
  400: status.INVALID_ARGUMENT,
  401: status.UNAUTHENTICATED,
  403: status.PERMISSION_DENIED,
  409: status.FAILED_PRECONDITION,
  429: status.RESOURCE_EXHAUSTED,
}

/** Logs unexpected errors. */
export function grpcErrorOf(error: unknown, logger: Logger): Pick<StatusObject, 'code' | 'details'> {
  if (error instanceof ServerError) return { code: STATUSES[error.status] ?? status.UNAVAILABLE, details: error.message }
  if (error instanceof SluiceError) {
    const isStore = error.code.startsWith('ERR_STORE')
    return { code: isStore ? status.UNAVAILABLE : status.INVALID_ARGUMENT, details: error.message }
  }
  logger.error({ err: error, where: 'ShouldRateLimit' }, 'a request failed')
  return { code: status.UNAVAILABLE, details: 'an unexpected error occurred: the log of the service has the reason' }
}
