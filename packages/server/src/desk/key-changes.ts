// Changes of API keys: create, rotate, revoke, and the times of last use.

import type { ApiKey, KeyRing, NewApiKey, NewKeyOptions, RevokeOptions, RotateOptions } from '../keys/key-ring.ts'
import type { PlannedChange } from '../records.ts'
import type { Caller } from './caller.ts'
import type { ChangeDesk, ChangeOptions, TracedChange } from './change-desk.ts'
import { keyView } from './key-view.ts'

/** Interval for storing the times of last use. A crash loses at most this much. */
const SAVE_USE_EVERY_MS = 60_000

export interface FirstKeyOptions extends ChangeOptions<NewApiKey> {
  /** Called with the id of each attempt. If the answer of the database is lost, a key with this id may exist. */
  readonly onAttempt: (id: string) => void
  /** The id of a key of an earlier attempt, whose secret nobody knows. It ends at once. */
  readonly replaces: string | undefined
}

export class KeyChanges {
  readonly #desk: ChangeDesk
  readonly #keys: KeyRing
  readonly #timer: NodeJS.Timeout

  constructor(desk: ChangeDesk, keys: KeyRing) {
    this.#desk = desk
    this.#keys = keys
    this.#timer = setInterval(() => this.saveUse().catch(() => {}), SAVE_USE_EVERY_MS)
    this.#timer.unref()
  }

  /** Resolves when the key is durable. */
  create(caller: Caller, options: NewKeyOptions): Promise<NewApiKey> {
    return this.#desk.change(caller, () => created(this.#keys.planCreate(options)))
  }

  /** Creates a key if there is none. Otherwise rejects with ERR_CONFLICT, also if another instance creates one at the same moment. */
  createFirst(caller: Caller, options: NewKeyOptions, { onAttempt, replaces, ...rest }: FirstKeyOptions): Promise<NewApiKey> {
    const plan = (): TracedChange<NewApiKey> => {
      const keys = this.#keys
      const planned = replaces === undefined ? keys.planFirst(options) : keys.planRotate(replaces, { graceMs: 0 })
      onAttempt(planned.result.key.id)
      return created(planned)
    }
    return this.#desk.change(caller, plan, rest)
  }

  /** Creates a second key with the same name and scopes, which replaces the first. */
  rotate(caller: Caller, id: string, options: RotateOptions = {}): Promise<NewApiKey> {
    return this.#desk.change(caller, () => {
      const planned = this.#keys.planRotate(id, options)
      return { planned, trace: { action: 'key.rotate', target: id, after: keyView(planned.result.key) } }
    })
  }

  /**
   * The key does not verify from this call on, even if the commit fails. In that case the promise rejects, the records owe the
   * revocation, and the call may be repeated. The last key with the scope `admin` is refused with ERR_KEY_LAST and stays valid.
   */
  async revoke(caller: Caller, id: string, options: RevokeOptions = {}): Promise<ApiKey> {
    const plan = this.#keys.beginRevocation(id, options)
    return this.#desk.change(caller, () => {
      const planned = plan()
      return { planned, trace: { action: 'key.revoke', target: id, after: keyView(planned.result) } }
    })
  }

  /** Stores the times of last use. Runs once a minute and on close. */
  saveUse(): Promise<void> {
    return this.#desk.storeUse(() => this.#keys.takeUse())
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.saveUse()
  }
}

function created(planned: PlannedChange<NewApiKey>): TracedChange<NewApiKey> {
  const { key } = planned.result
  return { planned, trace: { action: 'key.create', target: key.id, after: keyView(key) } }
}
