// The types that every door exports.

export type { ChargeByResponse, Rules, RulesByRequest } from './by-request.ts'
export type { DenialChange } from './changed-denial.ts'
export type { GateOptions, GateWarning, RouteOptions } from './options.ts'
export type { DecidedContext, DeniedContext, RequestContext, ShadowContext } from './request-context.ts'
export type { Reserve } from './reserve.ts'
