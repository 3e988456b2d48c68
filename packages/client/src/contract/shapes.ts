// Made by packages/server/scripts/write-client-contract.mjs from the contract of the service. Change that, then run npm run derive.
// Shapes of requests and answers, as JSON has them.

export type Success = {
  readonly message: 'success'
  readonly code: 200
  readonly status: 'ok'
}

export type Problem = {
  readonly at: string
  readonly message: string
}

export type FailureMeta = {
  /** For people: the problem, the value, and the expected form. */
  readonly message: string
  /** The HTTP status. */
  readonly code: number
  readonly status: 'error'
  /** A code for programs. */
  readonly error: string
  readonly problems?: readonly Problem[] | undefined
}

/** The request failed. */
export type Failure = {
  readonly meta: FailureMeta
  readonly data: null
}

export type Readiness = {
  /** `degraded`: the store does not answer, and the fallback decides. */
  readonly state: 'ready' | 'degraded' | 'starting' | 'draining' | 'store-down'
  readonly store: 'memory' | 'redis' | 'postgres' | 'sqlite'
  /** `lost`: The store lacks changes of policies and keys that an instance has seen. No changes are accepted until a restore. */
  readonly records: 'kept' | 'lost'
}

export type Check = {
  /** The client to count. */
  readonly client_id: string
  /** The route that is requested. */
  readonly route: string
  /** Facts about the request, for policies with `where` and rules with `per`. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
  /** Units to spend; 1 by default. */
  readonly cost?: number | undefined
}

export type Answer = {
  readonly status: 'Allow' | 'Deny'
  /** The limit of the rule that speaks; 0 if a policy denies everything. */
  readonly limit: number
  /** Whole units left now. */
  readonly remain: number
  /** Seconds until nothing is counted any more, rounded up. */
  readonly reset_in_second: number
  /** The rules of a policy deny this; it is allowed because that policy is in shadow mode. */
  readonly shadow_denied?: true | undefined
  /** Present if the store did not answer: the failure mode that decided. With `allow` and `deny` nothing was counted, so `remain` and `reset_in_second` describe no client. */
  readonly fallback?: 'local' | 'allow' | 'deny' | undefined
  /** For Deny: false if waiting does not help, because the cost is above the limit or the wait is longer than `retryWithinMs`. */
  readonly retryable?: boolean | undefined
  /** For Deny: milliseconds until this cost passes if no other check comes first; null if never. */
  readonly retry_after_ms?: number | null | undefined
  /** The policy that speaks: the one that denies, or else the one with the fewest units left. */
  readonly policy: string
  /** Its rule that speaks: `policy/rule` for a policy that always applies. */
  readonly rule: string
  /** For Deny: the reason, if the policy shows it. */
  readonly reason?: string | undefined
}

export type Batch = {
  readonly checks: readonly Check[]
}

export type CheckError = {
  readonly status: 'Error'
  /** A code for programs, if it was not the store that failed. */
  readonly error?: string | undefined
  /** Why it could not be decided. */
  readonly message: string
}

export type BatchAnswer = {
  readonly results: readonly (Answer | CheckError)[]
}

/** an object of whole numbers by rule name */
export type UnitsByRule = Readonly<Record<string, number>>

export type Reserve = {
  /** The client to count. */
  readonly client_id: string
  /** The route that is requested. */
  readonly route: string
  /** Facts about the request, for policies with `where` and rules with `per`. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
  /** Units to hold: by rule name, or one number for every rule that `cost` does not name. A concurrency rule holds one place unless this says more. */
  readonly hold?: number | UnitsByRule | undefined
  /** Units to spend at once on the rules that are not held; 1 by default. */
  readonly cost?: number | UnitsByRule | undefined
  /** The smallest number of units to hold if `hold` does not fit. Default: `hold`. */
  readonly at_least?: number | UnitsByRule | undefined
  /** Time until the hold expires, at most 7d. Default: the shortest `ttl` of the concurrency rules, or one minute. */
  readonly ttl?: number | string | undefined
  /** If the hold expires, its units are charged (default) or released. Places of concurrency rules are released. */
  readonly expired?: 'charge' | 'release' | undefined
}

export type Reserved = {
  readonly status: 'Allow' | 'Deny'
  /** The limit of the rule that speaks; 0 if a policy denies everything. */
  readonly limit: number
  /** Whole units left now. */
  readonly remain: number
  /** Seconds until nothing is counted any more, rounded up. */
  readonly reset_in_second: number
  /** The rules of a policy deny this; it is allowed because that policy is in shadow mode. */
  readonly shadow_denied?: true | undefined
  /** Present if the store did not answer: the failure mode that decided. With `allow` and `deny` nothing was counted, so `remain` and `reset_in_second` describe no client. */
  readonly fallback?: 'local' | 'allow' | 'deny' | undefined
  /** For Deny: false if waiting does not help, because the cost is above the limit or the wait is longer than `retryWithinMs`. */
  readonly retryable?: boolean | undefined
  /** For Deny: milliseconds until this cost passes if no other check comes first; null if never. */
  readonly retry_after_ms?: number | null | undefined
  /** The policy that speaks: the one that denies, or else the one with the fewest units left. */
  readonly policy: string
  /** Its rule that speaks: `policy/rule` for a policy that always applies. */
  readonly rule: string
  /** For Deny: the reason, if the policy shows it. */
  readonly reason?: string | undefined
  /** For Allow: names the hold in settle, cancel and extend. */
  readonly token?: string | undefined
  /** For Allow: the units that are held, by rule name. */
  readonly granted?: Readonly<Record<string, number>> | undefined
  /** For Allow: the time when the hold expires; null if nothing is held. */
  readonly expires_at?: string | null | undefined
}

export type Settle = {
  /** The `token` of a reserve. Only the API key that reserved can use it, or a key that replaced it by a rotation. */
  readonly token: string
  /** Units that were used: by rule name, or one number for every held rule. A rule that is not named is charged what it holds. */
  readonly used?: number | UnitsByRule | undefined
}

export type Settled = {
  readonly client_id: string
  readonly route: string
  /** The policy for this client and route now. */
  readonly policy: string
  /** Units that were charged, by rule name. */
  readonly used: Readonly<Record<string, number>>
}

export type Cancel = {
  /** The `token` of a reserve. Only the API key that reserved can use it, or a key that replaced it by a rotation. */
  readonly token: string
}

export type Cancelled = {
  readonly client_id: string
  readonly route: string
  /** The policy for this client and route now. */
  readonly policy: string
}

export type Extend = {
  /** The `token` of a reserve. Only the API key that reserved can use it, or a key that replaced it by a rotation. */
  readonly token: string
  /** Time from now until the hold expires, at most 7d. */
  readonly ttl: number | string
}

export type Extended = {
  readonly client_id: string
  readonly route: string
  /** The policy for this client and route now. */
  readonly policy: string
  /** The time when the hold expires now; null if nothing is held. */
  readonly expires_at: string | null
}

export type Refund = {
  /** The client to count. */
  readonly client_id: string
  /** The route that is requested. */
  readonly route: string
  /** Facts about the request, for policies with `where` and rules with `per`. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
  /** Units to spend; 1 by default. */
  readonly cost?: number | undefined
}

export type Counted = {
  readonly client_id: string
  readonly route: string
  readonly policy: string
  /** Units used now, of the named rule or the first rule. */
  readonly used: number
}

export type RuleUsage = {
  /** `policy/rule` for a policy that always applies. */
  readonly name: string
  readonly policy: string
  readonly limit: number
  readonly used: number
  readonly remain: number
  readonly reset_in_second: number
  /** 0 if the cost passes now; null if it never passes. */
  readonly retry_after_ms: number | null
}

export type Usage = {
  readonly client_id: string
  readonly route: string
  /** The policy that speaks, as in the answer to a check. */
  readonly policy: string
  readonly mode: 'enforce' | 'shadow' | 'off' | 'deny'
  /** The answer that a check of this cost would get now. */
  readonly status: 'Allow' | 'Deny'
  readonly rules: readonly RuleUsage[]
  /** Open holds of this counter that the answering instance knows. Their units are part of `used`. */
  readonly holds: {
    readonly open: number
    /** Units that they hold, by rule name. */
    readonly held: Readonly<Record<string, number>>
  }
  /** Present if the store did not answer: the failure mode that decided. With `local`, `rules` has only what this instance has counted. With `allow` and `deny` its numbers describe no client. */
  readonly fallback?: 'local' | 'allow' | 'deny' | undefined
}

export type Counter = {
  /** The client to count. */
  readonly client_id: string
  /** The route that is requested. */
  readonly route: string
  /** Facts about the request, for policies with `where` and rules with `per`. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
}

export type SetCount = {
  /** The client to count. */
  readonly client_id: string
  /** The route that is requested. */
  readonly route: string
  /** Facts about the request, for policies with `where` and rules with `per`. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
  readonly used: number
  /** Name of the rule, or `policy/rule` for a policy that always applies. Default: the first rule. */
  readonly rule?: string | undefined
}

export type OpenHolds = {
  readonly client_id: string
  /** The list has the holds that the answering instance opened and has not seen the end of. Stores cannot list holds. */
  readonly known_by: 'instance'
  /** Number of open holds of this client that the instance knows. */
  readonly open: number
  /** The latest first, at most 100. */
  readonly holds: readonly {
    /** The id of a hold in the list. It is not the token. */
    readonly id: string
    readonly route: string
    /** The policy that decided the reserve. */
    readonly policy: string
    /** Units that are held, by rule name. */
    readonly granted: Readonly<Record<string, number>>
    readonly opened_at: string
    readonly expires_at: string
  }[]
}

export type CancelHold = {
  /** The id of a hold in the list. It is not the token. */
  readonly id: string
}

export type CancelledHold = {
  readonly client_id: string
  readonly route: string
  /** The policy for this client and route now. */
  readonly policy: string
  /** The id of a hold in the list. It is not the token. */
  readonly id: string
  /** Units that were held. */
  readonly granted: Readonly<Record<string, number>>
}

export type FixedWindowRule = {
  readonly algorithm: 'fixed-window'
  /** Units that a window lets through. */
  readonly limit: number
  /** Length of a window. */
  readonly window: number | string
  /** Start of the windows: at a key's first hit (default), or at multiples of the window since the epoch. */
  readonly anchor?: 'first-hit' | 'clock' | undefined
  /** Denied hits count too, also one that is above the limit by itself and opens the window. */
  readonly countDenied?: boolean | undefined
  /** Every hit, allowed or not, counts and restarts the window. Not with anchor clock. Deprecated: a denied client that retries never gets through. */
  readonly elastic?: boolean | undefined
  /** Name of the rule in answers. Usage is kept under it. Default: `rule-` and a number, such as rule-1. */
  readonly name?: string | undefined
  /** Keys that are counted by: any of `client`, `route` and names of attributes. `[]` is one counter for everybody. Default: as `scope` says. A request without one of the attributes does not match the policy. */
  readonly per?: string | readonly string[] | undefined
}

export type SlidingLogRule = {
  readonly algorithm: 'sliding-log'
  /** Units that any window lets through. */
  readonly limit: number
  /** Time that the log looks back. */
  readonly window: number | string
  /** Name of the rule in answers. Usage is kept under it. Default: `rule-` and a number, such as rule-1. */
  readonly name?: string | undefined
  /** Keys that are counted by: any of `client`, `route` and names of attributes. `[]` is one counter for everybody. Default: as `scope` says. A request without one of the attributes does not match the policy. */
  readonly per?: string | readonly string[] | undefined
}

export type SlidingWindowRule = {
  readonly algorithm: 'sliding-window'
  /** Units that a window should let through. */
  readonly limit: number
  /** Length of a window. */
  readonly window: number | string
  /** Start of the windows: from a key's first hit on (default), until the key has been silent for two windows; or at multiples of the window since the epoch. */
  readonly anchor?: 'first-hit' | 'clock' | undefined
  /** The last window's share: in whole units, rounded down (default), or with its fraction. */
  readonly round?: 'down' | 'none' | undefined
  /** Name of the rule in answers. Usage is kept under it. Default: `rule-` and a number, such as rule-1. */
  readonly name?: string | undefined
  /** Keys that are counted by: any of `client`, `route` and names of attributes. `[]` is one counter for everybody. Default: as `scope` says. A request without one of the attributes does not match the policy. */
  readonly per?: string | readonly string[] | undefined
}

export type TokenBucketRule = {
  readonly algorithm: 'token-bucket'
  /** Tokens that the bucket holds: the largest burst. */
  readonly capacity: number
  /** Tokens that come back in each period. */
  readonly refill: number
  /** Length of the period in which the refill comes back. */
  readonly every: number | string
  /** Tokens come back a little every millisecond (default), or the whole refill at the end of each period, counted from the hit that took the first token of a full bucket. */
  readonly style?: 'smooth' | 'stepped' | undefined
  /** Name of the rule in answers. Usage is kept under it. Default: `rule-` and a number, such as rule-1. */
  readonly name?: string | undefined
  /** Keys that are counted by: any of `client`, `route` and names of attributes. `[]` is one counter for everybody. Default: as `scope` says. A request without one of the attributes does not match the policy. */
  readonly per?: string | readonly string[] | undefined
}

export type GcraRule = {
  readonly algorithm: 'gcra'
  /** Units that a period lets through in the long run. */
  readonly limit: number
  /** Length of a period. */
  readonly period: number | string
  /** Units that may come at once. As many as the limit by default. */
  readonly burst?: number | undefined
  /** Name of the rule in answers. Usage is kept under it. Default: `rule-` and a number, such as rule-1. */
  readonly name?: string | undefined
  /** Keys that are counted by: any of `client`, `route` and names of attributes. `[]` is one counter for everybody. Default: as `scope` says. A request without one of the attributes does not match the policy. */
  readonly per?: string | readonly string[] | undefined
}

export type LeakyBucketRule = {
  readonly algorithm: 'leaky-bucket'
  /** Units that the bucket holds before it overflows. */
  readonly capacity: number
  /** Units that leak out in each period. */
  readonly leak: number
  /** Length of the period in which the leak runs out. */
  readonly every: number | string
  /** Name of the rule in answers. Usage is kept under it. Default: `rule-` and a number, such as rule-1. */
  readonly name?: string | undefined
  /** Keys that are counted by: any of `client`, `route` and names of attributes. `[]` is one counter for everybody. Default: as `scope` says. A request without one of the attributes does not match the policy. */
  readonly per?: string | readonly string[] | undefined
}

export type CalendarWindowRule = {
  readonly algorithm: 'calendar-window'
  /** Units that a window lets through. */
  readonly limit: number
  /** Length of a window: a day, week, month or year of the calendar. */
  readonly every: 'day' | 'week' | 'month' | 'year'
  /** Start of the windows, such as '09:00', 'monday', 15 or '04-06', with a time of day or without. By default midnight of the first day. */
  readonly startsOn?: number | string | undefined
  /** Time zone of the calendar, by its IANA name. */
  readonly timeZone?: string | undefined
  /** Name of the rule in answers. Usage is kept under it. Default: `rule-` and a number, such as rule-1. */
  readonly name?: string | undefined
  /** Keys that are counted by: any of `client`, `route` and names of attributes. `[]` is one counter for everybody. Default: as `scope` says. A request without one of the attributes does not match the policy. */
  readonly per?: string | readonly string[] | undefined
}

export type ConcurrencyRule = {
  readonly algorithm: 'concurrency'
  /** Places that can be held at once. */
  readonly limit: number
  /** Time after which a place is free again if nobody gives it back. */
  readonly ttl: number | string
  /** Name of the rule in answers. Usage is kept under it. Default: `rule-` and a number, such as rule-1. */
  readonly name?: string | undefined
  /** Keys that are counted by: any of `client`, `route` and names of attributes. `[]` is one counter for everybody. Default: as `scope` says. A request without one of the attributes does not match the policy. */
  readonly per?: string | readonly string[] | undefined
}

export type Rule = string | FixedWindowRule | SlidingLogRule | SlidingWindowRule | TokenBucketRule | GcraRule | LeakyBucketRule | CalendarWindowRule | ConcurrencyRule

export type Policy = {
  readonly name: string
  readonly client: string
  readonly route: string
  /** Conditions on attributes, as patterns. The policy matches requests that meet all of them. */
  readonly where?: Readonly<Record<string, string>> | undefined
  /** most-specific (default): decides if no policy that matches is more specific. always: joins the decision of every request that it matches. */
  readonly applies?: 'most-specific' | 'always' | undefined
  /** enforce (default): decides. shadow: counts and reports, and denies nothing. off: counts nothing. deny: denies every request, and needs no rules. */
  readonly mode: 'enforce' | 'shadow' | 'off' | 'deny'
  /** route (default): each client has the limit on each route. policy: each client has it over all routes of the policy. If clients choose their routes, as behind a proxy, only policy limits a client. */
  readonly scope: 'route' | 'policy'
  /** Keys that are counted by: any of `client`, `route` and names of attributes. `[]` is one counter for everybody. Default: as `scope` says. A request without one of the attributes does not match the policy. */
  readonly per?: string | readonly string[] | undefined
  /** The time from which the policy is not in force any more. It stays listed until it is deleted. */
  readonly expires_at?: string | undefined
  /** The reason for the policy, such as that of a block. */
  readonly reason?: string | undefined
  /** True: callers that the policy denies see `reason`. Default: false. */
  readonly show_reason?: boolean | undefined
  readonly rules?: readonly Rule[] | undefined
  /** The source of the policy. */
  readonly source: 'built-in' | 'api' | 'file'
  /** Its time is over: it is not in force, and stays listed until it is deleted. */
  readonly expired?: true | undefined
  /** Changes when the policy changes. For `If-Match`, including the quotes. */
  readonly etag: string
}

export type PolicyPage = {
  readonly policies: readonly Policy[]
  /** Number of policies that match the search, on all pages. */
  readonly total: number
  /** The cursor of the next page; null on the last. */
  readonly next: string | null
}

/** a rule or a list of 1 to 16: in notation such as '100/minute', or an object with its algorithm */
export type Rules = Rule | readonly Rule[]

export type PolicySpec = {
  readonly name?: string | undefined
  readonly client?: string | undefined
  readonly route?: string | undefined
  /** Conditions on attributes, as patterns. The policy matches requests that meet all of them. */
  readonly where?: Readonly<Record<string, string>> | undefined
  /** most-specific (default): decides if no policy that matches is more specific. always: joins the decision of every request that it matches. */
  readonly applies?: 'most-specific' | 'always' | undefined
  /** enforce (default): decides. shadow: counts and reports, and denies nothing. off: counts nothing. deny: denies every request, and needs no rules. */
  readonly mode?: 'enforce' | 'shadow' | 'off' | 'deny' | undefined
  /** route (default): each client has the limit on each route. policy: each client has it over all routes of the policy. If clients choose their routes, as behind a proxy, only policy limits a client. */
  readonly scope?: 'route' | 'policy' | undefined
  /** Keys that are counted by: any of `client`, `route` and names of attributes. `[]` is one counter for everybody. Default: as `scope` says. A request without one of the attributes does not match the policy. */
  readonly per?: string | readonly string[] | undefined
  /** The time from which the policy is not in force any more. It stays listed until it is deleted. */
  readonly expires_at?: string | undefined
  /** The reason for the policy, such as that of a block. */
  readonly reason?: string | undefined
  /** True: callers that the policy denies see `reason`. Default: false. */
  readonly show_reason?: boolean | undefined
  readonly rules?: Rules | undefined
}

export type Created = {
  readonly message: 'success'
  readonly code: 201
  readonly status: 'ok'
}

export type SimulatedRule = {
  readonly name: string
  /** The rule in a few words. */
  readonly words: string
  readonly limit: number
  readonly denied: number
  readonly shadow_denied: number
  /** Clients that it denied, or would have denied in shadow mode. */
  readonly clients: number
  /** null if it denied nothing. */
  readonly first_denied: string | null
  /** null if it denied nothing. */
  readonly last_denied: string | null
  /** Only for proposed policies; null for others. */
  readonly smallest_limits: {
    readonly clients: number
    readonly p99: number
    readonly p999: number
    readonly all: number
  } | null
}

export type SimulatedClient = {
  readonly client_id: string
  readonly requests: number
  readonly denied: number
  readonly shadow_denied: number
  /** null if it was not denied. */
  readonly first_denied: string | null
  readonly denied_before: number
  readonly newly_denied: number
  readonly newly_allowed: number
}

export type Simulation = {
  /** The checks of this instance that were replayed. */
  readonly sample: {
    /** The instance that answers, as in `GET /v1/fleet`. */
    readonly instance: string
    /** Instances that are up, of which each keeps a sample of its own. Up to some seconds old. */
    readonly instances_up: number
    /** Checks that this instance decided in the last hour, in the sample or not. */
    readonly decided: number
    /** Share of the clients whose checks were kept: 1, 0.5, 0.25 and so on. */
    readonly share: number
    /** Checks of these clients that were not kept. */
    readonly missed: number
    /** An hour ago, or the start of the instance. */
    readonly since: string
  }
  readonly requests: number
  /** Time of the first check. */
  readonly first: string | null
  /** Time of the last check. */
  readonly last: string | null
  readonly denied: number
  readonly shadow_denied: number
  /** Checks under policies that can only be reserved. */
  readonly undecided: number
  readonly clients: number
  readonly clients_denied: number
  /** The difference to the policies in force. */
  readonly change: {
    readonly denied_before: number
    readonly newly_denied: number
    readonly newly_allowed: number
    readonly clients_newly_denied: number
    readonly clients_newly_allowed: number
  }
  /** The policies with checks, those with the most denials first. */
  readonly policies: readonly {
    readonly name: string
    readonly mode: string
    /** Checks for which the policy spoke. */
    readonly requests: number
    readonly undecided: number
    readonly rules: readonly SimulatedRule[]
  }[]
  /** The clients that are newly denied most. */
  readonly top_clients: readonly SimulatedClient[]
  readonly top_newly_allowed: readonly SimulatedClient[]
  readonly series: {
    /** Start of the first step. */
    readonly start: string | null
    readonly step_seconds: number
    readonly requests: readonly number[]
    readonly denied: readonly number[]
    readonly shadow_denied: readonly number[]
    readonly denied_before: readonly number[]
    readonly newly_denied: readonly number[]
    readonly newly_allowed: readonly number[]
  }
}

export type ShadowReport = {
  readonly policy: string
  /** That of the policy. For `If-Match`, to enforce exactly what was reported. */
  readonly etag: string
  /** Time of the first check; null if there was none. */
  readonly since: string | null
  readonly checks: number
  /** Checks that it would have denied. */
  readonly denied: number
  /** The rules that would have denied. */
  readonly rules: readonly {
    readonly name: string
    readonly denied: number
  }[]
  /** The clients that it would have denied most. */
  readonly clients: readonly {
    readonly client_id: string
    /** Never too low. */
    readonly denied: number
    /** The most by which `denied` may be too high. */
    readonly error: number
  }[]
  /** Upper bound for the denials of any client that is not listed. */
  readonly unlisted_at_most: number
  /** The instances that are up and whose counts are in the sums, the answering one first. */
  readonly instances: readonly {
    readonly id: string
    /** True for the instance that answers. */
    readonly self: boolean
    /** Time of the first check; null if there was none. */
    readonly since: string | null
    readonly checks: number
    /** Checks that it would have denied. */
    readonly denied: number
  }[]
  /** Instances whose counts are not in the sums: they have another version, or more policies in shadow mode than a report has. */
  readonly uncounted_instances: number
  /** The reason why the counts of other instances are not known now; null if they are. */
  readonly problem: string | null
}

export type Key = {
  readonly id: string
  readonly name: string
  readonly scopes: readonly ('check' | 'read' | 'admin')[]
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
  readonly last_used_at: string | null
}

export type KeyList = {
  readonly keys: readonly Key[]
}

export type NewKey = {
  readonly name: string
  readonly scopes: readonly ('check' | 'read' | 'admin')[]
  readonly expires_at?: string | undefined
}

export type KeyWithSecret = {
  readonly key: Key
  /** Shown only once, and not stored. */
  readonly secret: string
}

export type Rotation = {
  /** Seconds for which the replaced key stays valid. */
  readonly grace_in_second?: number | undefined
  readonly expires_at?: string | undefined
}

export type AuditEntry = {
  readonly time: string
  /** The id of the key that was used, or another actor such as `cli`. */
  readonly actor: string
  /** The name of the actor at that time. Entries of earlier versions have none. */
  readonly actorName?: string | undefined
  readonly action: string
  readonly target: string
  readonly before?: unknown | undefined
  readonly after?: unknown | undefined
  readonly requestId?: string | undefined
  readonly address?: string | undefined
}

export type AuditPage = {
  readonly entries: readonly AuditEntry[]
  /** The cursor of the next page; null on the last. */
  readonly next: string | null
  /** Entries that were read for this page. With a search, older entries are read by the next page. */
  readonly looked_at: number
}

export type RecordNames = {
  readonly count: number
  /** The first 100: a policy by its name, a key by its id. */
  readonly names: readonly {
    readonly kind: 'policy' | 'key'
    readonly id: string
  }[]
}

export type Records = {
  /** `lost`: The store lacks changes of policies and keys that an instance has seen. No changes are accepted until a restore. */
  readonly state: 'kept' | 'lost'
  /** Time when the loss was noticed; null if nothing is lost. */
  readonly since: string | null
  /** The number of the last change that this instance knows. */
  readonly known_changes: number | null
  /** The number of the last change that the store has. */
  readonly found_changes: number | null
  /** The instance to restore from, if another instance knows more changes than this one. */
  readonly known_by: string | null
  readonly unreadable: RecordNames
}

export type Restore = {
  /** Report the plan without doing it. */
  readonly dry_run?: boolean | undefined
}

export type Restored = {
  /** `lost`: The store lacks changes of policies and keys that an instance has seen. No changes are accepted until a restore. */
  readonly state: 'kept' | 'lost'
  readonly dry_run: boolean
  /** Records that the store lacked or had in an earlier form. */
  readonly written: {
    readonly count: number
    /** The first 100: a policy by its name, a key by its id. */
    readonly names: readonly {
      readonly kind: 'policy' | 'key'
      readonly id: string
    }[]
  }
  /** The keys among `written` that the store would have accepted. */
  readonly revoked: {
    readonly count: number
    /** The first 100: a policy by its name, a key by its id. */
    readonly names: readonly {
      readonly kind: 'policy' | 'key'
      readonly id: string
    }[]
  }
  /** Records in the store that were deleted before the loss, or whose patterns another policy has taken. */
  readonly removed: {
    readonly count: number
    /** The first 100: a policy by its name, a key by its id. */
    readonly names: readonly {
      readonly kind: 'policy' | 'key'
      readonly id: string
    }[]
  }
  /** Records that were changed after the loss. They are not overwritten. */
  readonly kept: {
    readonly count: number
    /** The first 100: a policy by its name, a key by its id. */
    readonly names: readonly {
      readonly kind: 'policy' | 'key'
      readonly id: string
    }[]
  }
  /** False if the changes after the loss are not all known. Then every record in the store counts as changed. */
  readonly exact: boolean
}

export type Stats = {
  /** The first second of the series, in seconds since the epoch. */
  readonly from: number
  /** Length of the series in seconds. */
  readonly seconds: number
  /** One count for each second, oldest first. */
  readonly allowed: readonly number[]
  /** One count for each second, oldest first. */
  readonly denied: readonly number[]
  /** One count for each second, oldest first. */
  readonly shadow_denied: readonly number[]
  /** One count for each second, oldest first. */
  readonly errors: readonly number[]
  /** Sums over the same seconds, busiest first. */
  readonly policies: readonly {
    readonly name: string
    readonly allowed: number
    readonly denied: number
    readonly shadow_denied: number
    readonly errors: number
  }[]
  /** True if every check of this time is counted under the name of its policy. False if more than 100 policies were in use: checks may be under `other`, or belong to a policy that is not listed any more. */
  readonly policies_complete: boolean
  readonly since_start: {
    readonly started_at: string
    readonly allowed: number
    readonly denied: number
    readonly shadow_denied: number
    readonly errors: number
  }
}

export type History = {
  /** The start of the first hour, in seconds since the epoch. */
  readonly from: number
  /** Length of the series in hours. */
  readonly hours: number
  /** One count for each hour, oldest first. */
  readonly allowed: readonly number[]
  /** One count for each hour, oldest first. */
  readonly denied: readonly number[]
  /** One count for each hour, oldest first. */
  readonly shadow_denied: readonly number[]
  /** One count for each hour, oldest first. */
  readonly errors: readonly number[]
  /** Sums over the same hours, busiest first. */
  readonly policies: readonly {
    readonly name: string
    readonly allowed: number
    readonly denied: number
    readonly shadow_denied: number
    readonly errors: number
  }[]
  /** True if every check of this time is counted under the name of its policy. False if more than 100 policies were in use: checks may be under `other`, or belong to a policy that is not listed any more. */
  readonly policies_complete: boolean
  readonly started_at: string
}

export type Top = {
  readonly by: 'denied' | 'allowed'
  readonly clients: readonly {
    readonly client_id: string
    /** Checks in the last hour. Never too low. */
    readonly count: number
    /** The most by which `count` may be too high. */
    readonly error: number
    /** Checks of each minute of the last hour, oldest first. Checks in `error` are not included. */
    readonly minutes: readonly number[]
  }[]
  /** Upper bound for the count of any client that is not listed. */
  readonly unlisted_at_most: number
}

export type Activity = {
  readonly client_id: string
  /** The start of the first minute, in seconds since the epoch. */
  readonly from: number
  /** Length of the series in minutes. */
  readonly minutes: number
  /** One count for each minute, oldest first. */
  readonly allowed: readonly number[]
  /** One count for each minute, oldest first. */
  readonly denied: readonly number[]
  /** Upper bound of allowed checks that no minute has. */
  readonly allowed_missing_at_most: number
  /** Upper bound of denied checks that no minute has. */
  readonly denied_missing_at_most: number
  readonly started_at: string
}

export type Fleet = {
  /** The answering instance first, then by start. Those that are gone are listed for ten minutes. */
  readonly instances: readonly {
    /** The host and a random text. Another one after each start. */
    readonly id: string
    /** True for the instance that answers. */
    readonly self: boolean
    readonly version: string
    /** `starting`, `ready` or `draining`; `stopped`: it has ended in order; `gone`: it has missed three reports. */
    readonly state: string
    readonly started_at: string
    /** Time since its report was published. */
    readonly seen_ms_ago: number
    readonly allowed: number
    readonly denied: number
    readonly shadow_denied: number
    readonly errors: number
    /** Checks a second in the last minute of its report. */
    readonly per_second: number
  }[]
  /** Instances whose report has a form of another version. */
  readonly unreadable: number
  /** Instances that are up. */
  readonly up: number
  /** Checks of the instances that are up, each since its start. */
  readonly totals: {
    readonly allowed: number
    readonly denied: number
    readonly shadow_denied: number
    readonly errors: number
  }
  /** The first second of the series, in seconds since the epoch. */
  readonly from: number
  /** Length of the series in seconds. */
  readonly seconds: number
  /** One count for each second, oldest first. */
  readonly allowed: readonly number[]
  /** One count for each second, oldest first. */
  readonly denied: readonly number[]
  /** One count for each second, oldest first. */
  readonly shadow_denied: readonly number[]
  /** One count for each second, oldest first. */
  readonly errors: readonly number[]
  /** Sums over the last hour, of the 20 busiest policies of each instance that is up. Busiest first. */
  readonly policies: readonly {
    readonly name: string
    readonly allowed: number
    readonly denied: number
    readonly shadow_denied: number
    readonly errors: number
  }[]
  /** The reason why other instances are not known now; null if they are. */
  readonly problem: string | null
}

export type CheckEvent = {
  readonly time: string
  readonly client_id: string
  readonly route: string
  /** The route that the check was counted under, if it differs: `*` for all paths of a client. */
  readonly counted_route?: string | undefined
  readonly cost: number
  readonly policy: string
  readonly outcome: 'allow' | 'deny' | 'error'
  /** The reason for the outcome. */
  readonly reason: string
  /** The rule that decided the outcome. */
  readonly rule: string
  readonly limit: number
  readonly remain: number
  /** null: never. */
  readonly retry_after_ms: number | null
  /** The source of the numbers: the store, or a fallback. */
  readonly source: string
  /** Number of checks of the same kind (denied or not) that the sample left out since the previous event. */
  readonly skipped: number
}

export type DroppedEvents = {
  /** Number of events that were dropped because this connection was too slow. */
  readonly count: number
}

export type SessionKey = {
  readonly id: string
  readonly name: string
  readonly scopes: readonly ('check' | 'read' | 'admin')[]
}

export type Session = {
  /** The key of the session; null if nobody is signed in. */
  readonly key: SessionKey | null
  /** True if users must sign in. */
  readonly keys_required: boolean
}

export type Histogram = {
  /** Upper bounds in seconds, ascending. */
  readonly bounds: readonly number[]
  /** Counts since the start: one for each bound, and one for values above all bounds. Not cumulative. */
  readonly counts: readonly number[]
}

export type Status = {
  readonly version: string
  readonly state: 'starting' | 'ready' | 'draining'
  readonly started_at: string
  /** Policies in force. */
  readonly policies: number
  readonly store: {
    readonly kind: 'memory' | 'redis' | 'postgres' | 'sqlite'
    /** True if the store answers. */
    readonly up: boolean
    /** True while the store is not called because it failed too often. */
    readonly breaker_open: boolean
    /** The fallback if the store does not answer. */
    readonly failure_mode: 'local' | 'allow' | 'deny' | 'throw'
    /** Number of counters; null if the store cannot tell. */
    readonly counters: number | null
    /** Failed calls since the start. */
    readonly failures: number
    readonly seconds: Histogram
  }
  readonly records: Records
  /** Decisions made without the store, since the start. */
  readonly fallback_decisions: number
  readonly check_seconds: Histogram
}
