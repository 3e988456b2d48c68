// The shapes of the service's answers that the pages read. The service's openapi.json has all of them.

export type Scope = 'check' | 'read' | 'admin'

export interface SessionKey {
  readonly id: string
  readonly name: string
  readonly scopes: readonly Scope[]
}

export interface SessionAnswer {
  readonly key: SessionKey | null
  readonly keys_required: boolean
}

export const OUTCOMES = ['allowed', 'denied', 'shadow_denied', 'errors'] as const
export type Outcome = (typeof OUTCOMES)[number]

export type Counts = Readonly<Record<Outcome, number>>

/** One count a second, oldest first. */
export interface StatsAnswer extends Readonly<Record<Outcome, readonly number[]>> {
  /** The first second, in seconds since the epoch. */
  readonly from: number
  readonly seconds: number
  readonly policies: readonly (Counts & { readonly name: string })[]
  readonly since_start: Counts & { readonly started_at: string }
}

export interface TopAnswer {
  readonly clients: readonly {
    readonly client_id: string
    readonly count: number
    readonly error: number
    readonly minutes: readonly number[]
  }[]
  readonly unlisted_at_most: number
}

export interface HistogramAnswer {
  readonly bounds: readonly number[]
  readonly counts: readonly number[]
}

export interface StatusAnswer {
  readonly version: string
  readonly state: 'starting' | 'ready' | 'draining'
  readonly started_at: string
  readonly policies: number
  readonly store: {
    readonly kind: 'memory' | 'redis' | 'postgres' | 'sqlite'
    readonly up: boolean
    readonly breaker_open: boolean
    readonly failure_mode: 'local' | 'allow' | 'deny' | 'throw'
    readonly counters: number | null
    readonly failures: number
    readonly seconds: HistogramAnswer
  }
  readonly fallback_decisions: number
  readonly check_seconds: HistogramAnswer
}

/** The condition of policies and keys in the store. */
export interface RecordsAnswer {
  readonly state: 'kept' | 'lost'
  readonly since: string | null
  readonly known_changes: number | null
  readonly found_changes: number | null
  readonly known_by: string | null
}

export type PolicyMode = 'enforce' | 'shadow' | 'off'

/** The value of an option of a rule. */
export type OptionValue = string | number | boolean

/** A rule of a policy: in notation, or its algorithm with its options. */
export type PolicyRule = string | Readonly<Record<string, OptionValue>>

export interface PolicySpec {
  readonly name: string
  readonly client: string
  readonly route: string
  readonly rules: readonly PolicyRule[]
  readonly mode: PolicyMode
  readonly scope: 'route' | 'policy'
}

export interface PolicyAnswer extends PolicySpec {
  readonly source: 'built-in' | 'api' | 'file'
  /** Changes whenever the policy changes. Sent as `If-Match`. */
  readonly etag: string
}

export interface PoliciesAnswer {
  readonly policies: readonly PolicyAnswer[]
  readonly total: number
  readonly next: string | null
}

export interface RuleUsage {
  readonly name: string
  readonly limit: number
  readonly used: number
  readonly remain: number
  readonly reset_in_second: number
  /** 0 if the same hit would pass now, null if it can never pass. */
  readonly retry_after_ms: number | null
}

export interface UsageAnswer {
  readonly client_id: string
  readonly route: string
  readonly policy: string
  readonly mode: PolicyMode
  readonly status: 'Allow' | 'Deny'
  readonly rules: readonly RuleUsage[]
  /** Set if the store did not answer: the failure mode of the service. */
  readonly fallback?: 'local' | 'allow' | 'deny'
}

/** An open hold that the answering instance knows. */
export interface OpenHold {
  readonly id: string
  readonly route: string
  readonly policy: string
  /** Held units by rule name. */
  readonly granted: Readonly<Record<string, number>>
  readonly opened_at: string
  readonly expires_at: string
}

export interface HoldsAnswer {
  /** Number of open holds, also of those that are not in the list. */
  readonly open: number
  /** The latest first. */
  readonly holds: readonly OpenHold[]
}

export interface KeyAnswer {
  readonly id: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
  readonly last_used_at: string | null
}

export interface NewKeyAnswer {
  readonly key: KeyAnswer
  readonly secret: string
}

export interface AuditEntry {
  readonly time: string
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly before?: unknown
  readonly after?: unknown
  readonly address?: string
}

export interface AuditAnswer {
  readonly entries: readonly AuditEntry[]
  readonly next: string | null
}

/** One check, as the event feed reports it. */
export interface CheckEvent {
  readonly time: string
  readonly client_id: string
  readonly route: string
  /** The route that counted the check, if it differs from `route`. */
  readonly counted_route?: string
  readonly cost: number
  readonly policy: string
  readonly outcome: 'allow' | 'deny' | 'error'
  readonly reason: string
  readonly rule: string
  readonly limit: number
  readonly remain: number
  readonly retry_after_ms: number | null
  readonly source: string
  /** Number of similar checks that the service left out since the previous event. */
  readonly skipped: number
}
