// The one who asks for a change, without any protocol.

import type { Scope } from '../keys/key-ring.ts'

export interface Caller {
  /** The id of the API key, or another actor: `cli`, `first-start`, `nobody`. */
  readonly id: string
  /** The name of the key at this moment. Names of keys may be used again, ids never. */
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly address?: string
  readonly requestId?: string
}

/** The command line, where it changes records without the service. */
export const COMMAND_LINE: Caller = { id: 'cli', name: 'cli', scopes: ['admin'] }

/** A service that starts for the first time. */
export const FIRST_START: Caller = { id: 'first-start', name: 'first-start', scopes: ['admin'] }

/** Somebody without a valid key. */
export function nobody(at: Pick<Caller, 'address' | 'requestId'>): Caller {
  return { id: 'nobody', name: 'nobody', scopes: [], ...at }
}
