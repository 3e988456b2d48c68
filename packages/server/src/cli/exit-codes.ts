// What the `sluice` command tells the shell. Scripts rely on these numbers: they are for ever.

import { CommanderError } from 'commander'
import { ClientError } from '../client/client-error.ts'
import { ServerError } from '../errors.ts'

export const EXIT = {
  /** It was done; for `check`: allowed. */
  done: 0,
  /** `check`: denied. `serve`: it could not start. */
  denied: 1,
  failed: 1,
  /** The command was called wrongly, or a file that it was given is wrong. */
  usage: 2,
  /** The service, or the Redis of --store, could not be reached or did not answer in time. */
  unreachable: 3,
  /** The service answered, and refused. */
  refused: 4,
} as const

/** What was asked for cannot be done as it was written. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A server other than the service did not answer. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
}

export function exitCodeFor(error: unknown): number {
  // Commander ends with an error also where it has printed help, which is what was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
  if (error instanceof UsageError) return EXIT.usage
  if (error instanceof UnreachableError) return EXIT.unreachable
  if (error instanceof ServerError) return error.code === 'ERR_CONFIG' || error.code === 'ERR_INPUT' ? EXIT.usage : EXIT.failed
  if (!(error instanceof ClientError)) return EXIT.failed
  if (error.code === 'ERR_OPTION') return EXIT.usage
  return error.status === 0 ? EXIT.unreachable : EXIT.refused
}
