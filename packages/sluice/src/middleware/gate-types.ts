// The types that every door has.

export type { Clients } from './client-list.ts'
export type { AddressOptions, Charge, GateOptions, GateWarning, LimitOptions, RouteOptions } from './gate-options.ts'
export type { Rules } from './plans.ts'
export type { DecidedVisit, DeniedVisit, ShadowVisit, Visit } from './visit.ts'
