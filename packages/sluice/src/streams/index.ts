// The door `sluice/streams`: counts what a stream uses, and settles its hold.

export { anthropicUsage } from './anthropic-usage.ts'
export type { Count, StreamCounter } from './counting.ts'
export { type MeterEnd, type MeterOptions, meter } from './meter.ts'
export { openaiUsage } from './openai-usage.ts'
export type { TokenUsage, UsageOptions } from './token-usage.ts'
export type { StreamOutcome } from './watched-stream.ts'
