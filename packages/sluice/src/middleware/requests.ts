// The door `sluice/requests`: values of options that depend on each request or on its response.

export { chargeByResponse } from './requests/charge-by-response.ts'
export { rulesByRequest } from './requests/rules-by-request.ts'
