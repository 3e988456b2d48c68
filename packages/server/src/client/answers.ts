// Converts the service's JSON to the client's types.

import type { Scope } from '../keys/api-key.ts'
import type { PolicyMode, PolicySource, PolicySpec } from '../policies/policy.ts'
import { ClientError } from './client-error.ts'

/** A failure mode of the service that answers without its store. */
export type StoreFallback = 'local' | 'allow' | 'deny'

/** Units by rule name. */
export type UnitsByRule = Readonly<Record<string, number>>

/** A number for several rules, or units by rule name. */
export type Units = number | UnitsByRule

export interface CheckDecision {
  readonly allowed: boolean
  /** The limit of the rule that decided. 0 in a fallback. */
  readonly limit: number
  /** Whole units left now. */
  readonly remaining: number
  /** 0 if allowed. Otherwise the time until this cost passes if no other check comes first; Infinity if never. */
  readonly retryAfterMs: number
  /**
   * False if waiting does not help: the cost is above the limit, or the wait is longer than `retryWithinMs` of the service. True for
   * every other decision, also for an allowed one.
   */
  readonly retryable: boolean
  /** Time until nothing is counted any more, rounded up to a second. */
  readonly resetAfterMs: number
  /** The rules deny this; it is allowed because the policy is in shadow mode. */
  readonly isShadowDenied: boolean
  /**
   * Set if the service decided without its store: its failure mode. With `allow` and `deny` nothing was counted, so the numbers
   * describe no client.
   */
  readonly storeFallback?: StoreFallback
  /** The origin of the decision: the service, or this client because the service could not be asked. */
  readonly source: 'service' | 'fallback'
  /** The reason for the fallback. */
  readonly error?: ClientError
}

export interface RuleUsage {
  readonly name: string
  readonly limit: number
  readonly used: number
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetAfterMs: number
}

export interface Usage {
  readonly clientId: string
  readonly route: string
  /** The policy for this client and route. */
  readonly policy: string
  readonly mode: PolicyMode
  /** The answer that a check of this cost would get now. */
  readonly allowed: boolean
  readonly rules: readonly RuleUsage[]
  /** Open holds that the answering instance knows, and the units that they hold. They are part of `used`. */
  readonly holds: { readonly open: number; readonly held: UnitsByRule }
  /**
   * Set if the service answered without its store: its failure mode. With `local`, `rules` has only what one instance has
   * counted. With `allow` and `deny`, its numbers describe no client.
   */
  readonly storeFallback?: StoreFallback
}

export interface Counted {
  readonly clientId: string
  readonly route: string
  readonly policy: string
  /** Units used now. */
  readonly used: number
}

export interface ListedPolicy extends PolicySpec {
  readonly source: PolicySource
  /** Changes when the policy changes. Pass it as `ifMatch`. */
  readonly etag: string
}

export interface PolicyPage {
  readonly policies: readonly ListedPolicy[]
  /** Number of policies that match the search, on all pages. */
  readonly total: number
  /** The `after` of the next page; undefined if this is the last. */
  readonly next: string | undefined
}

export interface KeyFacts {
  readonly id: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly createdAt: Date
  readonly expiresAt: Date | undefined
  readonly revokedAt: Date | undefined
  readonly lastUsedAt: Date | undefined
}

/** The secret is shown only once: the service does not store it. */
export interface NewKey {
  readonly key: KeyFacts
  readonly secret: string
}

export interface Counts {
  readonly allowed: number
  readonly denied: number
  readonly shadowDenied: number
  readonly errors: number
}

export interface Stats {
  /** Start of the series. */
  readonly from: Date
  /** One count for each second, oldest first. */
  readonly allowed: readonly number[]
  readonly denied: readonly number[]
  readonly shadowDenied: readonly number[]
  readonly errors: readonly number[]
  /** Sums over the same seconds, busiest first. */
  readonly policies: readonly (Counts & { readonly name: string })[]
  readonly sinceStart: Counts & { readonly startedAt: Date }
}

export interface Top {
  readonly by: 'denied' | 'allowed'
  readonly clients: readonly {
    readonly clientId: string
    /** Checks in the last hour. Never too low. */
    readonly count: number
    /** The most by which `count` may be too high. */
    readonly error: number
    /** Checks of each minute of the last hour, oldest first. Checks in `error` are not included. */
    readonly minutes: readonly number[]
  }[]
  /** Upper bound for the count of any client that is not listed. */
  readonly unlistedAtMost: number
}

export interface Health {
  /** True if the service accepts requests. */
  readonly isReady: boolean
  /** `degraded`: the store does not answer, and the fallback decides. */
  readonly state: 'ready' | 'degraded' | 'starting' | 'draining' | 'store-down'
  readonly store: 'memory' | 'redis' | 'postgres' | 'sqlite'
  /** `lost`: the store lacks changes of policies and keys. The service goes on with those that it knows. */
  readonly records: 'kept' | 'lost'
}

export interface RecordNames {
  readonly count: number
  /** At most 100. A policy is named by its name, a key by its id. */
  readonly names: readonly { readonly kind: 'policy' | 'key'; readonly id: string }[]
}

export interface RecordsStatus {
  readonly state: 'kept' | 'lost'
  /** Time when the loss was noticed. */
  readonly since: Date | undefined
  /** Number of the last change that the answering instance knows. */
  readonly knownChanges: number | undefined
  /** Number of the last change in the store. */
  readonly foundChanges: number | undefined
  /** The instance to restore from, if another instance knows more. */
  readonly knownBy: string | undefined
  /** Records that exist and cannot be read. */
  readonly unreadable: RecordNames
}

export interface Restored {
  /** The state after the restore. */
  readonly state: 'kept' | 'lost'
  readonly dryRun: boolean
  /** Records that the store lacked or had in an earlier form. */
  readonly written: RecordNames
  /** The keys among `written` that the store would have accepted. */
  readonly revoked: RecordNames
  /** Records that were deleted before the loss, or whose patterns another policy has taken. */
  readonly removed: RecordNames
  /** Records that were changed after the loss. They are not overwritten. */
  readonly kept: RecordNames
  /** False if the changes after the loss are not all known. Then every record in the store counts as changed. */
  readonly isExact: boolean
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of the service has the API's form, or the mapping below fails
type Wire = any

export function checkDecision(wire: Wire): CheckDecision {
  if (wire.status === 'Error') {
    const isStore = wire.error === undefined
    throw new ClientError(isStore ? 'ERR_STORE' : wire.error, wire.message, { status: isStore ? 503 : 409 })
  }
  const allowed = wire.status === 'Allow'
  const retryAfterMs = allowed ? 0 : orNever(wire.retry_after_ms)
  return {
    allowed,
    limit: wire.limit,
    remaining: wire.remain,
    retryAfterMs,
    // Only denials have this field, and an earlier version of the service does not send it.
    retryable: wire.retryable ?? retryAfterMs < Number.POSITIVE_INFINITY,
    resetAfterMs: wire.reset_in_second * 1000,
    isShadowDenied: wire.shadow_denied === true,
    ...storeFallback(wire),
    source: 'service',
  }
}

/** The wait after a denial by the fallback. The real time is unknown while the service is down. */
const ASK_AGAIN_MS = 1000

/** The decision if the service cannot be asked. */
export function fallbackDecision(allowed: boolean, error: ClientError): CheckDecision {
  const numbers = { limit: 0, remaining: 0, retryAfterMs: allowed ? 0 : ASK_AGAIN_MS, resetAfterMs: 0 }
  // The service may be back soon.
  return { allowed, ...numbers, retryable: true, isShadowDenied: false, source: 'fallback', error }
}

export function usage(wire: Wire): Usage {
  const rules = wire.rules.map((rule: Wire) => ({
    name: rule.name,
    limit: rule.limit,
    used: rule.used,
    remaining: rule.remain,
    retryAfterMs: orNever(rule.retry_after_ms),
    resetAfterMs: rule.reset_in_second * 1000,
  }))
  const { client_id: clientId, route, policy, mode, holds = { open: 0, held: {} } } = wire
  return { clientId, route, policy, mode, allowed: wire.status === 'Allow', rules, holds, ...storeFallback(wire) }
}

function storeFallback({ fallback }: Wire): { readonly storeFallback?: StoreFallback } {
  return fallback === undefined ? {} : { storeFallback: fallback }
}

export function counted({ client_id: clientId, route, policy, used }: Wire): Counted {
  return { clientId, route, policy, used }
}

export function policyPage({ policies, total, next }: Wire): PolicyPage {
  return { policies, total, next: next ?? undefined }
}

export function keyFacts({ id, name, scopes, created_at, expires_at, revoked_at, last_used_at }: Wire): KeyFacts {
  return {
    id,
    name,
    scopes,
    createdAt: new Date(created_at),
    expiresAt: orUndefined(expires_at),
    revokedAt: orUndefined(revoked_at),
    lastUsedAt: orUndefined(last_used_at),
  }
}

export function newKey({ key, secret }: Wire): NewKey {
  return { key: keyFacts(key), secret }
}

export function stats(wire: Wire): Stats {
  const { started_at, ...sinceStart } = wire.since_start
  return {
    from: new Date(wire.from * 1000),
    allowed: wire.allowed,
    denied: wire.denied,
    shadowDenied: wire.shadow_denied,
    errors: wire.errors,
    policies: wire.policies.map(({ name, ...sums }: Wire) => ({ name, ...counts(sums) })),
    sinceStart: { startedAt: new Date(started_at), ...counts(sinceStart) },
  }
}

export function top({ by, clients, unlisted_at_most: unlistedAtMost }: Wire): Top {
  const listed = clients.map(({ client_id: clientId, ...numbers }: Wire) => ({ clientId, ...numbers }))
  return { by, clients: listed, unlistedAtMost }
}

export function health({ state, store, records = 'kept' }: Wire): Health {
  return { isReady: state === 'ready' || state === 'degraded', state, store, records }
}

export function recordsStatus({ state, since, known_changes, found_changes, known_by, unreadable }: Wire): RecordsStatus {
  return {
    state,
    since: orUndefined(since),
    knownChanges: known_changes ?? undefined,
    foundChanges: found_changes ?? undefined,
    knownBy: known_by ?? undefined,
    unreadable,
  }
}

export function restored({ state, dry_run, written, revoked, removed, kept, exact }: Wire): Restored {
  return { state, dryRun: dry_run, written, revoked, removed, kept, isExact: exact }
}

function counts({ allowed, denied, shadow_denied: shadowDenied, errors }: Wire): Counts {
  return { allowed, denied, shadowDenied, errors }
}

function orNever(ms: number | null): number {
  return ms ?? Number.POSITIVE_INFINITY
}

function orUndefined(time: string | null): Date | undefined {
  return time === null ? undefined : new Date(time)
}
