// Prepares statements in the sessions of a client, once in each, and remembers which sessions have them.
// PgBouncer in transaction mode gives each transaction any session. There a prepared statement is missing, and Postgres refuses the
// transaction before it reads anything; or the statement exists already. From then on statements are sent as texts.

import { codeOf, isServerRefusal } from './postgres-errors.ts'
import type { PreparedStatements } from './postgres-statements.ts'

/** States of errors about prepared statements: one that does not exist, and one that exists already. */
const NOT_OURS: readonly unknown[] = ['26000', '42P05']

/** A connection, as far as preparing needs it. */
interface Session {
  readonly session?: object
  run(text: string): Promise<unknown>
}

export class PreparedSessions {
  /** Ids of the statements of each session. */
  readonly #ids = new WeakMap<object, Set<string>>()
  /** False if sessions are not ours alone. */
  #isOn = true

  /** True if the session has the statements. */
  has({ session }: Session, { id }: PreparedStatements): boolean {
    return this.#isOn && session !== undefined && this.#ids.get(session)?.has(id) === true
  }

  /** Prepares the statements in a session. Resolves to false if they must be sent as texts. */
  async prepare(held: Session, { id, text }: PreparedStatements): Promise<boolean> {
    if (!this.#isOn || held.session === undefined) return false
    try {
      await held.run(text)
    } catch (error) {
      if (!isServerRefusal(error)) throw error
      this.failed(error)
      return false
    }
    this.#ids.set(held.session, new Set(this.#ids.get(held.session)).add(id))
    return true
  }

  /** Called with the error of a transaction. */
  failed(error: unknown): void {
    if (NOT_OURS.includes(codeOf(error))) this.#isOn = false
  }
}

const byClient = new WeakMap<object, PreparedSessions>()

/** Several stores on one client share its sessions. */
export function sessionsOf(client: object): PreparedSessions {
  const sessions = byClient.get(client) ?? new PreparedSessions()
  byClient.set(client, sessions)
  return sessions
}
