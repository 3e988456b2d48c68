// Converts the service's JSON to the client's types: names of TypeScript, times as Date, null as undefined or Infinity.

import { ClientError } from './client-error.ts'
import type * as contract from './contract/shapes.ts'

/** A failure mode of the service that answers without its store. */
export type StoreFallback = NonNullable<contract.Answer['fallback']>

/** Units by rule name. */
export type UnitsByRule = Readonly<Record<string, number>>

/** A number for several rules, or units by rule name. */
export type Units = number | UnitsByRule

export type Scope = contract.Key['scopes'][number]

/** A rule of a policy: in notation, or an object with its algorithm and options. */
export type Rule = contract.Rule

/** A policy as a request has it. */
export type PolicySpec = contract.PolicySpec & { readonly name: string }

/** A policy as the service lists it. Pass its `etag` as `ifMatch`. */
export type ListedPolicy = contract.Policy

export interface CheckDecision {
  readonly allowed: boolean
  /** The limit of the rule that decided. 0 if the client's fallback decided without a stand-in. */
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
  /** The policy that speaks: the one that denies, or else the one with the fewest units left. Absent if the client's fallback decided. */
  readonly policy?: string
  /** Its rule that speaks: `policy/rule` for a policy that always applies. */
  readonly rule?: string
  /** The reason of a denial, if the policy shows it. */
  readonly reason?: string
  /** The origin of the decision: the service, or this client because the service could not be asked. */
  readonly source: 'service' | 'fallback'
  /** The reason for the fallback. */
  readonly error?: ClientError
}

export interface RuleUsage extends Pick<contract.RuleUsage, 'name' | 'policy' | 'limit' | 'used'> {
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetAfterMs: number
}

export interface Usage extends Pick<contract.Usage, 'route' | 'policy' | 'mode' | 'holds'> {
  readonly clientId: string
  /** The answer that a check of this cost would get now. */
  readonly allowed: boolean
  readonly rules: readonly RuleUsage[]
  /**
   * Set if the service answered without its store: its failure mode. With `local`, `rules` has only what one instance has
   * counted. With `allow` and `deny`, its numbers describe no client.
   */
  readonly storeFallback?: StoreFallback
}

export interface Counted extends Pick<contract.Counted, 'route' | 'policy' | 'used'> {
  readonly clientId: string
}

export interface PolicyPage extends Pick<contract.PolicyPage, 'policies' | 'total'> {
  /** The `after` of the next page; undefined if this is the last. */
  readonly next: string | undefined
}

export interface KeyFacts extends Pick<contract.Key, 'id' | 'name' | 'scopes'> {
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

/** Series have one count for each second, oldest first. */
export interface Stats extends Pick<contract.Stats, 'allowed' | 'denied' | 'errors'> {
  /** Start of the series. */
  readonly from: Date
  readonly shadowDenied: readonly number[]
  /** Sums over the same seconds, busiest first. */
  readonly policies: readonly (Counts & { readonly name: string })[]
  readonly sinceStart: Counts & { readonly startedAt: Date }
}

type TopClient = contract.Top['clients'][number]

export interface Top extends Pick<contract.Top, 'by'> {
  readonly clients: readonly (Omit<TopClient, 'client_id'> & { readonly clientId: string })[]
  /** Upper bound for the count of any client that is not listed. */
  readonly unlistedAtMost: number
}

type ShadowClient = contract.ShadowReport['clients'][number]
type ShadowInstance = contract.ShadowReport['instances'][number]

/** Checks that a policy in shadow mode would have denied, on all instances together. */
export interface ShadowReport extends Pick<contract.ShadowReport, 'policy' | 'etag' | 'checks' | 'denied' | 'rules'> {
  /** Time of the first check. */
  readonly since: Date | undefined
  /** The clients that it would have denied most. `denied` is too high by at most `error`. */
  readonly clients: readonly (Omit<ShadowClient, 'client_id'> & { readonly clientId: string })[]
  /** Upper bound for the denials of any client that is not listed. */
  readonly unlistedAtMost: number
  /** The instances whose counts are in the sums, the answering one first. */
  readonly instances: readonly (Omit<ShadowInstance, 'self' | 'since'> & {
    readonly isSelf: boolean
    readonly since: Date | undefined
  })[]
  /** Number of instances whose counts are not in the sums. */
  readonly uncountedInstances: number
  /** The reason why the counts of other instances are not known now. */
  readonly problem: string | undefined
}

export interface Health extends contract.Readiness {
  /** True if the service accepts requests. */
  readonly isReady: boolean
}

export type RecordNames = contract.RecordNames

export interface RecordsStatus extends Pick<contract.Records, 'state' | 'unreadable'> {
  /** Time when the loss was noticed. */
  readonly since: Date | undefined
  /** Number of the last change that the answering instance knows. */
  readonly knownChanges: number | undefined
  /** Number of the last change in the store. */
  readonly foundChanges: number | undefined
  /** The instance to restore from, if another instance knows more. */
  readonly knownBy: string | undefined
}

export interface Restored extends Pick<contract.Restored, 'state' | 'written' | 'revoked' | 'removed' | 'kept'> {
  readonly dryRun: boolean
  /** False if the changes after the loss are not all known. Then every record in the store counts as changed. */
  readonly isExact: boolean
}

/** A page of the audit log. With a search, it may have few entries and still have a next page. */
export interface AuditPage {
  readonly entries: readonly contract.AuditEntry[]
  readonly next: string | undefined
  /** Number of entries that the service has read for this page. */
  readonly lookedAt: number
}

/** Throws the error of a check in a batch that could not be decided. Throws ERR_ANSWER for an answer of another form. */
export function checkDecision(wire: contract.Answer | contract.CheckError | null | undefined): CheckDecision {
  if (wire?.status === 'Error') {
    const isStore = wire.error === undefined
    throw new ClientError(wire.error ?? 'ERR_STORE', wire.message, { status: isStore ? 503 : 409 })
  }
  const allowed = wire?.status === 'Allow'
  if (!allowed && wire?.status !== 'Deny') {
    throw new ClientError('ERR_ANSWER', 'the answer to a check has an unknown form', { mayHaveHappened: true })
  }
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
    ...(wire.policy !== undefined && { policy: wire.policy, rule: wire.rule }),
    ...(wire.reason !== undefined && { reason: wire.reason }),
    source: 'service',
  }
}

/** The decision if the service cannot be asked and nothing counts. After a denial, the service is asked again in `waitMs`. */
export function fallbackDecision(allowed: boolean, waitMs: number, error: ClientError): CheckDecision {
  const numbers = { limit: 0, remaining: 0, retryAfterMs: allowed ? 0 : waitMs, resetAfterMs: 0 }
  return { allowed, ...numbers, retryable: true, isShadowDenied: false, source: 'fallback', error }
}

export function usage(wire: contract.Usage): Usage {
  const rules = wire.rules.map(({ name, policy, limit, used, remain, retry_after_ms, reset_in_second }) => ({
    ...{ name, policy, limit, used, remaining: remain },
    retryAfterMs: orNever(retry_after_ms),
    resetAfterMs: reset_in_second * 1000,
  }))
  // An earlier version of the service has no holds.
  const { client_id: clientId, route, policy, mode, holds = { open: 0, held: {} } } = wire
  return { clientId, route, policy, mode, allowed: wire.status === 'Allow', rules, holds, ...storeFallback(wire) }
}

function storeFallback({ fallback }: Pick<contract.Answer, 'fallback'>): { readonly storeFallback?: StoreFallback } {
  return fallback === undefined ? {} : { storeFallback: fallback }
}

export function counted({ client_id: clientId, route, policy, used }: contract.Counted): Counted {
  return { clientId, route, policy, used }
}

export function policyPage({ policies, total, next }: contract.PolicyPage): PolicyPage {
  return { policies, total, next: next ?? undefined }
}

export function auditPage({ entries, next, looked_at }: contract.AuditPage): AuditPage {
  return { entries, next: next ?? undefined, lookedAt: looked_at }
}

export function keyFacts({ id, name, scopes, created_at, expires_at, revoked_at, last_used_at }: contract.Key): KeyFacts {
  return {
    ...{ id, name, scopes },
    createdAt: new Date(created_at),
    expiresAt: orUndefined(expires_at),
    revokedAt: orUndefined(revoked_at),
    lastUsedAt: orUndefined(last_used_at),
  }
}

export function newKey({ key, secret }: contract.KeyWithSecret): NewKey {
  return { key: keyFacts(key), secret }
}

export function stats({ from, allowed, denied, shadow_denied, errors, policies, since_start }: contract.Stats): Stats {
  return {
    from: new Date(from * 1000),
    ...{ allowed, denied, shadowDenied: shadow_denied, errors },
    policies: policies.map((sums) => ({ name: sums.name, ...counts(sums) })),
    sinceStart: { startedAt: new Date(since_start.started_at), ...counts(since_start) },
  }
}

export function top({ by, clients, unlisted_at_most: unlistedAtMost }: contract.Top): Top {
  return { by, clients: clients.map(({ client_id: clientId, ...numbers }) => ({ clientId, ...numbers })), unlistedAtMost }
}

export function shadowReport(report: contract.ShadowReport): ShadowReport {
  const { policy, etag, since, checks, denied, rules, clients, instances } = report
  return {
    ...{ policy, etag, since: orUndefined(since), checks, denied, rules },
    clients: clients.map(({ client_id: clientId, ...numbers }) => ({ clientId, ...numbers })),
    unlistedAtMost: report.unlisted_at_most,
    instances: instances.map(({ self: isSelf, since: first, ...others }) => ({ ...others, isSelf, since: orUndefined(first) })),
    uncountedInstances: report.uncounted_instances,
    problem: report.problem ?? undefined,
  }
}

export function health({ state, store, records = 'kept' }: contract.Readiness): Health {
  return { isReady: state === 'ready' || state === 'degraded', state, store, records }
}

export function recordsStatus({
  state,
  since,
  known_changes,
  found_changes,
  known_by,
  unreadable,
}: contract.Records): RecordsStatus {
  return {
    state,
    since: orUndefined(since),
    knownChanges: known_changes ?? undefined,
    foundChanges: found_changes ?? undefined,
    knownBy: known_by ?? undefined,
    unreadable,
  }
}

export function restored({ dry_run, exact, ...lists }: contract.Restored): Restored {
  return { ...lists, dryRun: dry_run, isExact: exact }
}

function counts({
  allowed,
  denied,
  shadow_denied: shadowDenied,
  errors,
}: contract.Stats['policies'][number] | contract.Stats['since_start']): Counts {
  return { allowed, denied, shadowDenied, errors }
}

function orNever(ms: number | null | undefined): number {
  return ms ?? Number.POSITIVE_INFINITY
}

/** Returns a time, or undefined if there is none. */
export function orUndefined(time: string | null | undefined): Date | undefined {
  return typeof time === 'string' ? new Date(time) : undefined
}
