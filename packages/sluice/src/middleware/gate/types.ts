// The types that every door exports.

export type { DenialChange } from './changed-denial.ts'
export type { Rules } from './limiter-cache.ts'
export type { ChargeWhen, GateOptions, GateWarning, RouteOptions } from './options.ts'
export type { DecidedContext, DeniedContext, RequestContext, ShadowContext } from './request-context.ts'
export type { Reserve } from './reserve.ts'
