// The door `sluice-client/contract`: shapes, operations, limits and error codes of the HTTP API.

export { type Address, addressOf, type DataOf, type RequestOf } from './address.ts'
export { blockName } from './block-name.ts'
export { LIMITS, PATTERNS, type ServiceErrorCode } from './constants.ts'
export { type OperationId, type Operations, ROUTES } from './operations.ts'
export type * from './shapes.ts'
