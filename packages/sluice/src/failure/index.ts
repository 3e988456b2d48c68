// The door `sluice/failure`: deadlines and breakers, for programs that ask something else than a store, such as sluice-client.

export { Breaker } from './breaker.ts'
export { Deadlines } from './deadlines.ts'
