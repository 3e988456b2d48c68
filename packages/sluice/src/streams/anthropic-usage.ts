// Usage in the streams of Anthropic's Messages API: `message_start` has the tokens of the prompt, and each `message_delta` the tokens
// of the answer so far. The last one has a reason to stop.

import type { StreamCounter } from './counting.ts'
import { type Json, memberOf, type ReportedUsage, tokensIn, type UsageOptions, usageCounter } from './token-usage.ts'

/**
 * Counts the tokens of an answer of Anthropic's Messages API:
 * `meter(body, hold, { count: anthropicUsage({ units: ({ inputTokens, outputTokens }) => ({ tokens: inputTokens + outputTokens }) }) })`.
 */
export function anthropicUsage(options: UsageOptions): StreamCounter<string | Uint8Array> {
  return usageCounter('anthropicUsage', options, { usageOf, textsOf })
}

function usageOf(event: Json): ReportedUsage | undefined {
  const usage = memberOf(event, 'usage') ?? memberOf(memberOf(event, 'message'), 'usage')
  if (typeof usage !== 'object' || usage === null) return undefined
  const cachedTokens = tokensIn(usage, 'cache_read_input_tokens')
  const cacheWriteTokens = tokensIn(usage, 'cache_creation_input_tokens')
  const uncachedTokens = tokensIn(usage, 'input_tokens')
  const reason = memberOf(memberOf(event, 'delta'), 'stop_reason')
  return {
    // The API counts tokens of the cache apart from the others.
    inputTokens: uncachedTokens === undefined ? undefined : uncachedTokens + (cachedTokens ?? 0) + (cacheWriteTokens ?? 0),
    cachedTokens,
    cacheWriteTokens,
    outputTokens: tokensIn(usage, 'output_tokens'),
    isLast: typeof reason === 'string',
  }
}

/** Pieces of text, of the arguments of tools, and of reasoning. */
function textsOf(event: Json): readonly Json[] {
  const delta = memberOf(event, 'delta')
  return ['text', 'partial_json', 'thinking'].map((name) => memberOf(delta, name))
}
