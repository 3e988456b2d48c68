// Sorts the error lines of memcached.

import type { StoreErrorKind } from '../../engines/store-errors.ts'

/** Errors of commands that wrote nothing. The same command may work in a moment. */
const REFUSED = /^(?:SERVER_ERROR out of memory|ERROR Too many open connections)/

/** Errors about the command or the rights. The server did not run the command, and repeating it does not help. */
const FATAL = /^(?:ERROR$|CLIENT_ERROR|SERVER_ERROR object too large)/

/** Returns the kind of an error line. `isRead` is true if the command writes nothing, so that any other error is a refusal. */
export function serverErrorKind(text: string, isRead: boolean): StoreErrorKind {
  if (REFUSED.test(text)) return 'refused'
  if (FATAL.test(text)) return 'fatal'
  return isRead ? 'refused' : 'unknown'
}
