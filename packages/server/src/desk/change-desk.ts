// The change desk: every change of policies and keys is validated, committed, applied and audited here, in this order.
// Invariant: changes are made one after the other. Each is validated against everything that was committed before it, and is in force
// only after its commit. A change cannot be made without an entry of the audit log. A change that lost against another instance is
// validated and committed again, with pauses that grow, for at most eight seconds.

import type { AuditTrail } from '../audit/audit-trail.ts'
import { messageOf, ServerError } from '../errors.ts'
import { type AuditedChange, type Change, type ChangeNote, errorForLater, type PlannedChange, type Records } from '../records.ts'
import type { Caller } from './caller.ts'
import { isConflict, RetryPace } from './retry-pace.ts'

/** The part of an audit entry that describes the change. The caller is added to it. */
export type Trace = Pick<AuditedChange, 'action' | 'target' | 'before' | 'after'>

/** A validated change with its trace. */
export interface TracedChange<T> {
  readonly planned: PlannedChange<T>
  readonly trace: Trace
}

export interface ChangeOptions<T> {
  /** Called after the commit and before the audit, for a result that must not be lost if the audit log cannot be written. */
  readonly onCommitted?: (result: T) => void
}

export class ChangeDesk {
  readonly #records: Records
  readonly #audit: Pick<AuditTrail, 'appendNote'>
  /** Queue of changes. */
  #turn: Promise<unknown> = Promise.resolve()
  /** Number of changes that could not be committed, and the last error. Changes that were requested before it fail with it. */
  #failures = 0
  #failure: unknown

  constructor(records: Records, audit: Pick<AuditTrail, 'appendNote'>) {
    this.#records = records
    this.#audit = audit
  }

  /**
   * Makes a change. `plan` validates it against the present records, and throws if it is refused. It is called again for each attempt.
   * Rejects with ERR_AUDIT if the change was made and its entry could not be stored.
   */
  change<T>(caller: Caller, plan: () => TracedChange<T>, { onCommitted }: ChangeOptions<T> = {}): Promise<T> {
    const failures = this.#failures
    return this.#inTurn(async () => {
      const { result, note } = await this.#commit(caller, plan, failures)
      onCommitted?.(result)
      await this.#append(note)
      return result
    })
  }

  /** Audits something that was done and that is not in the records, such as the reset of a counter. */
  record(caller: Caller, trace: Trace): Promise<void> {
    return this.#append({ entry: entryOf(caller, trace), isStored: false })
  }

  /** Runs work that the records do by themselves, such as a restore. It is retried and audited like any other change. */
  async rebuild<T>(caller: Caller, work: () => Promise<T>, traceOf: (done: T) => Trace | undefined): Promise<T> {
    const done = await this.#inTurn(async () => {
      const pace = new RetryPace()
      for (;;) {
        try {
          return await work()
        } catch (error) {
          if (!isConflict(error) || !(await pace.mayRetry())) throw error
        }
      }
    })
    const trace = traceOf(done)
    if (trace !== undefined) await this.record(caller, trace)
    return done
  }

  /** Stores times of last use: the only change without an entry, because it happens with every request. */
  storeUse(takeUse: () => readonly Change[]): Promise<void> {
    return this.#inTurn(async () => {
      const changes = takeUse()
      if (changes.length > 0) await this.#records.commit(changes)
    })
  }

  async #commit<T>(
    caller: Caller,
    plan: () => TracedChange<T>,
    failures: number,
  ): Promise<{ readonly result: T; readonly note: ChangeNote }> {
    const pace = new RetryPace()
    for (;;) {
      const { planned, trace } = plan()
      const note: ChangeNote = { entry: entryOf(caller, trace), isStored: false }
      const { changes, apply, result } = planned
      let isRefused = false
      const refusal = (): ServerError | undefined => {
        const refused = planned.refusal?.()
        isRefused = refused !== undefined
        return refused
      }
      try {
        if (this.#failures !== failures) throw errorForLater(this.#failure)
        if (changes.length > 0) await this.#records.commit(changes, { refusal, note, applied: apply })
        else apply()
        return { result, note }
      } catch (error) {
        if (isConflict(error) && (await pace.mayRetry())) continue
        // The records are fine if only this change is not allowed.
        if (!isRefused && this.#failures === failures) {
          this.#failures += 1
          this.#failure = error
        }
        const owed = planned.failed?.(error)
        if (owed !== undefined) this.#records.owe?.(owed.change, owed.refusal, note)
        throw error
      }
    }
  }

  async #append(note: ChangeNote): Promise<void> {
    try {
      await this.#audit.appendNote(note)
    } catch (error) {
      throw new ServerError('ERR_AUDIT', `the change was made, but is not in the audit log: ${messageOf(error)}`, {
        cause: error,
      })
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => {})
    return turn
  }
}

function entryOf({ id, name, address, requestId }: Caller, trace: Trace): AuditedChange {
  return {
    actor: id,
    actorName: name,
    ...trace,
    ...(requestId !== undefined && { requestId }),
    ...(address !== undefined && { address }),
  }
}
