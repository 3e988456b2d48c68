// Bounds of the RESP door, in the units that cost.

import { LIMITS } from '../../contract/limits.ts'

/** Maximum number of arguments of a command, its name included. A reserve with 16 rules and 16 attributes has fewer. */
export const MOST_ARGUMENTS = 256

/** Maximum length of one argument. The longest are hold tokens. */
export const LONGEST_ARGUMENT = LIMITS.longestToken

/** Maximum length of a command. It bounds the input buffer of a connection. */
export const LONGEST_COMMAND = LIMITS.mostTokenBytes

/** Maximum length of a command of somebody who has not presented a valid key. */
export const LONGEST_FIRST_COMMAND = 4096

/** Maximum length of a command that is written as a line. Such a line is searched for its end again with each piece of it. */
export const LONGEST_LINE = 4096

/** Maximum length of the key of a CL.THROTTLE, in bytes. */
export const LONGEST_THROTTLE_KEY = 1024

/** Replies of this many bytes are sent before further commands are read. */
export const MOST_REPLY_BYTES = 64 * 1024

/** Maximum number of commands of one connection that wait for the store. */
export const MOST_DUE = 1024

export const MOST_CONNECTIONS = 10_000

/** Interval at which the time limits are checked. */
export const SWEEP_MS = 1000

/** Time limit for a handshake of TLS, for the rest of a command that has begun, and for the first valid key where keys are required. */
export const HANDSHAKE_MS = 10_000
export const INCOMPLETE_MS = 10_000
export const UNAUTHENTICATED_MS = 30_000

/** Time limit between two commands. Clients of Redis connect again by themselves. */
export const IDLE_MS = 1_800_000
