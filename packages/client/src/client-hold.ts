// Holds through the service: reserve, settle, cancel, extend, run.
// Invariant: a settle or cancel is sent at most once. If its answer is lost, at worst the hold expires.

import { type CheckDecision, checkDecision, orUndefined, type Units, type UnitsByRule } from './answers.ts'
import type { Caller } from './caller.ts'
import { type Counter, holdCounter } from './check-json.ts'
import { ClientError } from './client-error.ts'
import type { Reserved } from './contract/shapes.ts'
import type { ServiceGuard } from './guard.ts'

export interface ReserveRequest extends Counter {
  /**
   * Units to hold: an object with a number for each rule name, or one number for every rule that `cost` does not name. A
   * `concurrency` rule holds one place, unless this says more.
   */
  readonly hold?: Units
  /** Units to spend at once on the rules that are not held. Default: 1. */
  readonly cost?: Units
  /** The smallest number of units that are held if `hold` does not fit. Default: `hold`. */
  readonly atLeast?: Units
  /** Time until the hold expires: milliseconds, or such as `'2m'`. Default: that of the concurrency rules, or a minute. */
  readonly ttl?: number | string
  /** If the hold expires, its units are charged (default) or released. Places of concurrency rules are released. */
  readonly expired?: 'charge' | 'release'
}

/** Units that are set aside until they are settled, cancelled or expire. */
export interface ClientHold {
  /** True if the work may begin. If false, nothing is held and nothing was spent. */
  readonly allowed: boolean
  readonly decision: CheckDecision
  /** The units that are held, by rule name. Empty if nothing is held. */
  readonly granted: UnitsByRule
  /** The time when the hold expires. Undefined if nothing is held. */
  readonly expiresAt: Date | undefined
  /** Names the hold for another process: `client.openHold(token)`. Undefined if the request was denied, or the client's fallback allowed it. */
  readonly token: string | undefined
  /** Ends the hold, and charges what was used: a number for all held rules, or by rule name. Default: what is held. */
  settle(used?: Units): Promise<void>
  /** Ends the hold, and charges nothing. */
  cancel(): Promise<void>
  /** Lets the hold expire after `ttl` from now. */
  extend(ttl: number | string): Promise<void>
  /** Cancels the hold, unless it was settled or cancelled before. */
  [Symbol.asyncDispose](): Promise<void>
}

/** A hold of an earlier reserve, perhaps of another process. */
export type OpenedHold = Pick<ClientHold, 'settle' | 'cancel' | 'extend'> & { readonly token: string }

/** The result of `run`: says whether the function ran. */
export type RunResult<T> =
  | { readonly allowed: true; readonly value: T; readonly hold: ClientHold }
  | { readonly allowed: false; readonly value?: undefined; readonly hold: ClientHold }

/** Nothing is held after a denial, or if the client's fallback decided. */
const NOTHING: Pick<Reserved, 'token' | 'granted' | 'expires_at'> = {}

export class ClientHolds {
  readonly #caller: Caller
  readonly #guard: ServiceGuard

  constructor(caller: Caller, guard: ServiceGuard) {
    this.#caller = caller
    this.#guard = guard
  }

  async reserve(request: ReserveRequest): Promise<ClientHold> {
    holdCounter(request)
    const { clientId, route, atLeast, ...options } = request
    const body = { client_id: clientId, route, at_least: atLeast, ...options }
    const made = (decision: CheckDecision, wire = NOTHING): ReservedHold => new ReservedHold(this.#caller, decision, wire)
    return this.#guard.ask(
      { clientId, route, units: unitsOf(options) },
      () => this.#caller.ask('reserve', { body }, (wire) => made(checkDecision(wire), wire)),
      made,
    )
  }

  open(token: string): OpenedHold {
    if (typeof token !== 'string' || token === '') throw new ClientError('ERR_OPTION', 'token must be the token of a hold')
    return new NamedHold(this.#caller, token) as OpenedHold
  }

  async run<T>(request: ReserveRequest, work: (hold: ClientHold) => T | Promise<T>): Promise<RunResult<T>> {
    const hold = (await this.reserve(request)) as ReservedHold
    if (!hold.allowed) return { allowed: false, hold }
    let value: T
    try {
      value = await work(hold)
    } catch (error) {
      await hold.endQuietly('cancel')
      throw error
    }
    await hold.endQuietly('settle')
    return { allowed: true, value, hold }
  }
}

/** Units that a stand-in spends instead: those that are held, or else spent, if they are one number. */
function unitsOf({ hold, cost }: Pick<ReserveRequest, 'hold' | 'cost'>): number {
  const units = hold ?? cost
  return typeof units === 'number' ? units : 1
}

/** A hold that a token names. Without a token the service holds nothing, because the client's fallback allowed the request. */
class NamedHold {
  readonly token: string | undefined
  hasEnded = false
  readonly #caller: Caller

  constructor(caller: Caller, token: string | undefined) {
    this.#caller = caller
    this.token = token
  }

  async settle(used?: Units): Promise<void> {
    await this.#end('settle', { used })
  }

  async cancel(): Promise<void> {
    await this.#end('cancel', {})
  }

  async extend(ttl: number | string): Promise<void> {
    this.checkOpen('extend')
    if (this.token === undefined) return
    const body = { token: this.token, ttl }
    this.extended(await this.#caller.ask('extend', { body }, ({ expires_at }) => orUndefined(expires_at)))
  }

  /** Throws ERR_HOLD if the hold has ended. */
  protected checkOpen(what: string): void {
    if (this.hasEnded) throw new ClientError('ERR_HOLD', `there is nothing to ${what}: the hold was settled or cancelled before`)
  }

  protected extended(_expiresAt: Date | undefined): void {}

  async #end(what: 'settle' | 'cancel', body: object): Promise<void> {
    this.checkOpen(what)
    // Also if the outcome is unknown, the hold is not ended again: at worst it expires.
    this.hasEnded = true
    if (this.token === undefined) return
    try {
      await this.#caller.ask(what, { body: { token: this.token, ...body } }, () => undefined)
    } catch (error) {
      const isOpen = error instanceof ClientError && !error.mayHaveHappened && error.code !== 'ERR_HOLD'
      if (isOpen) this.hasEnded = false
      throw error
    }
  }
}

class ReservedHold extends NamedHold implements ClientHold {
  readonly decision: CheckDecision
  readonly granted: UnitsByRule
  #expiresAt: Date | undefined

  constructor(caller: Caller, decision: CheckDecision, { token, granted = {}, expires_at }: typeof NOTHING) {
    super(caller, token)
    this.decision = decision
    this.granted = granted
    this.#expiresAt = orUndefined(expires_at)
  }

  get allowed(): boolean {
    return this.decision.allowed
  }

  get expiresAt(): Date | undefined {
    return this.#expiresAt
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endQuietly('cancel')
  }

  /** Ends the hold, unless it has ended. If the service does not answer, the work must not fail: at worst the hold expires. */
  async endQuietly(what: 'settle' | 'cancel'): Promise<void> {
    if (!this.allowed || this.hasEnded) return
    try {
      await this[what]()
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
    }
  }

  protected override checkOpen(what: string): void {
    if (!this.allowed) throw new ClientError('ERR_HOLD', `there is nothing to ${what}: the request was denied`)
    super.checkOpen(what)
  }

  protected override extended(expiresAt: Date | undefined): void {
    this.#expiresAt = expiresAt
  }
}
