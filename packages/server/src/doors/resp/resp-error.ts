// Errors as texts of RESP. The first word is a code for programs: one of Redis, or one of the service.

import { SluiceError } from 'sluice'
import { codeOfLibrary, ServerError } from '../../errors.ts'
import type { Logger } from '../../log/logger.ts'

/** An error whose message is the whole text of the reply. */
export class RespError extends Error {
  override readonly name = 'RespError'
}

/** Returns the text of the reply. Logs unexpected errors, and reveals nothing of them. */
export function errorText(error: unknown, logger: Logger, command: string): string {
  if (error instanceof RespError) return error.message
  if (error instanceof SluiceError) return `${codeOfLibrary(error)} ${error.message}`
  if (error instanceof ServerError && error.status !== 500) return `${error.code} ${error.message}`
  logger.error({ err: error, where: command }, 'a command failed')
  return 'ERR_INTERNAL an unexpected error occurred: the log of the service has the reason'
}
