// Usage in the streams of OpenAI's APIs, and of servers that speak like them:
// - Chat completions with `stream_options: { include_usage: true }`: the last chunk has no choices, and `usage`.
// - Responses: `response.completed`, `.incomplete` and `.failed` have the whole response, with `usage`.

import type { StreamCounter } from './counting.ts'
import { elementsOf, type Json, memberOf, type ReportedUsage, tokensIn, type UsageOptions, usageCounter } from './token-usage.ts'

/**
 * Counts the tokens of an answer of OpenAI's chat completions or Responses API:
 * `meter(body, hold, { count: openaiUsage({ units: ({ inputTokens, outputTokens }) => ({ tokens: inputTokens + outputTokens }) }) })`.
 */
export function openaiUsage(options: UsageOptions): StreamCounter<string | Uint8Array> {
  return usageCounter('openaiUsage', options, {
    usageOf: (event) => (memberOf(event, 'response') === undefined ? usageOfChunk(event) : usageOfResponse(event)),
    textsOf: (event) => [memberOf(event, 'delta'), ...elementsOf(memberOf(event, 'choices')).flatMap(textsOfChoice)],
  })
}

/** Some servers report the usage so far in every chunk. Then the last report is the one before `[DONE]`. */
function usageOfChunk(event: Json): ReportedUsage | undefined {
  const usage = memberOf(event, 'usage')
  if (typeof usage !== 'object' || usage === null) return undefined
  return {
    inputTokens: tokensIn(usage, 'prompt_tokens'),
    cachedTokens: tokensIn(memberOf(usage, 'prompt_tokens_details'), 'cached_tokens'),
    cacheWriteTokens: undefined,
    outputTokens: tokensIn(usage, 'completion_tokens'),
    isLast: elementsOf(memberOf(event, 'choices')).length === 0,
  }
}

const LAST_EVENTS: readonly Json[] = ['response.completed', 'response.incomplete', 'response.failed']

function usageOfResponse(event: Json): ReportedUsage | undefined {
  const usage = memberOf(memberOf(event, 'response'), 'usage')
  if (typeof usage !== 'object' || usage === null) return undefined
  return {
    inputTokens: tokensIn(usage, 'input_tokens'),
    cachedTokens: tokensIn(memberOf(usage, 'input_tokens_details'), 'cached_tokens'),
    cacheWriteTokens: undefined,
    outputTokens: tokensIn(usage, 'output_tokens'),
    isLast: LAST_EVENTS.includes(memberOf(event, 'type')),
  }
}

/** Pieces of text, of a refusal, of reasoning, and of the arguments of tools. */
function textsOfChoice(choice: Json): readonly Json[] {
  const delta = memberOf(choice, 'delta')
  const calls = elementsOf(memberOf(delta, 'tool_calls'))
  return [
    memberOf(choice, 'text'),
    ...['content', 'refusal', 'reasoning', 'reasoning_content'].map((name) => memberOf(delta, name)),
    ...calls.map((call) => memberOf(memberOf(call, 'function'), 'arguments')),
  ]
}
