// A command of the RESP door.

import type { Arguments } from '../protocol/arguments.ts'
import type { ReplyWriter } from '../protocol/reply-writer.ts'
import type { Session } from '../session.ts'

/** Writes a reply that was not known at once. */
export type WriteReply = (reply: ReplyWriter) => void

export interface Command {
  /** In capitals, as documents write it. */
  readonly name: string
  /** The arguments, for people. */
  readonly usage: string
  readonly summary: string
  /** Number of arguments, its name included. A negative number is the least number. */
  readonly arity: number
  /** `anybody`: no key is needed. `key`: any valid key. `check`: a key with the scope `check`, and a service that is ready. */
  readonly needs: 'anybody' | 'key' | 'check'
  /** Position of the counted key; 0 if there is none. */
  readonly keyAt?: number
  /** Writes the reply, or returns a promise of it. Throws before anything is written. */
  run(args: Arguments, reply: ReplyWriter, session: Session): Promise<WriteReply> | undefined
}
