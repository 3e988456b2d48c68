// Exit codes of the `sluice` command. Scripts rely on these numbers, so they never change.

import { CommanderError } from 'commander'
import type { ClientError } from 'sluice-client/node'
import { ServerError } from '../errors.ts'

export const EXIT = {
  /** Success. For `check` and `reserve`: allowed. */
  done: 0,
  /** `check`, `reserve`: denied. `serve`: the start failed. */
  denied: 1,
  failed: 1,
  /** Wrong arguments, or a file with a mistake. */
  usage: 2,
  /** The service, or the database of --store, is not reachable or did not answer in time. */
  unreachable: 3,
  /** The service refused the request. */
  refused: 4,
} as const

/** A mistake in the arguments or in a file. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A server other than the service did not answer. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
}

/** Tells the client's errors by their name, so that commands that ask no service do not load the client. */
export function isClientError(error: unknown): error is ClientError {
  return error instanceof Error && error.name === 'ClientError'
}

export function exitCodeFor(error: unknown): number {
  // Commander also throws after it printed help, which is not an error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
  if (error instanceof UsageError) return EXIT.usage
  if (error instanceof UnreachableError) return EXIT.unreachable
  if (error instanceof ServerError) return error.code === 'ERR_CONFIG' || error.code === 'ERR_INPUT' ? EXIT.usage : EXIT.failed
  if (!isClientError(error)) return EXIT.failed
  if (error.code === 'ERR_OPTION') return EXIT.usage
  return error.status === 0 ? EXIT.unreachable : EXIT.refused
}
