// The door `sluice/requests`: values of options that depend on each request or on its response.

export type { ChargeByResponse, Rules, RulesByRequest } from './gate/by-request.ts'
export { type ChargeWhen, chargeByResponse } from './requests/charge-by-response.ts'
export { rulesByRequest } from './requests/rules-by-request.ts'
