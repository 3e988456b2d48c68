// The door `sluice/tracing`: publishes calls of a limiter on Node's diagnostics channels.

export { type TracedCall, type TracedMethod, type TraceOptions, traced } from './traced.ts'
