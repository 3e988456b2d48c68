import { describe, expect, test } from 'vitest'
import { seededRandom } from '../testing/random.ts'
import { anthropicUsage } from './anthropic-usage.ts'
import type { StreamCounter } from './counting.ts'
import { openaiUsage } from './openai-usage.ts'
import type { TokenUsage, UsageOptions } from './token-usage.ts'

const event = (data: unknown, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`

const chat = (content: string, usage: unknown = null): string =>
  event({ object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }], usage })

const CHAT_USAGE = event({
  object: 'chat.completion.chunk',
  choices: [],
  usage: { prompt_tokens: 20, completion_tokens: 7, total_tokens: 27, prompt_tokens_details: { cached_tokens: 16 } },
})

const CHAT = [chat('Grüße, '), chat('世界 🌍'), CHAT_USAGE, event('[DONE]')]

const RESPONSES = [
  event({ type: 'response.created', response: { usage: null } }, 'response.created'),
  event({ type: 'response.output_text.delta', delta: 'Grüße, 世界' }, 'response.output_text.delta'),
  event(
    {
      type: 'response.completed',
      response: { usage: { input_tokens: 20, output_tokens: 7, input_tokens_details: { cached_tokens: 16 } } },
    },
    'response.completed',
  ),
]

const MESSAGE_START = event(
  {
    type: 'message_start',
    message: { usage: { input_tokens: 4, cache_read_input_tokens: 10, cache_creation_input_tokens: 6, output_tokens: 1 } },
  },
  'message_start',
)

const MESSAGES = [
  MESSAGE_START,
  event({ type: 'ping' }, 'ping'),
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Grüße, 世界' } }, 'content_block_delta'),
  event({ type: 'message_delta', delta: { stop_reason: null }, usage: { output_tokens: 3 } }, 'message_delta'),
  event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } }, 'message_delta'),
  event({ type: 'message_stop' }, 'message_stop'),
]

type Make = (options: UsageOptions) => StreamCounter<string | Uint8Array>

/** The usage that the counter finds; undefined if it is not known. */
function usageIn(
  make: Make,
  chunks: readonly (string | Uint8Array)[],
  options: Partial<UsageOptions> = {},
): TokenUsage | undefined {
  let found: TokenUsage | undefined
  const counter = make({
    units: (usage) => {
      found = usage
      return 0
    },
    ...options,
  })
  for (const chunk of chunks) counter.add(chunk)
  const total = counter.total()
  expect(total).toBe(found === undefined ? undefined : 0)
  return found
}

const REPORTED = { inputTokens: 20, outputTokens: 7, isReported: true }

describe.each([
  ['chat completions', openaiUsage, CHAT, { ...REPORTED, cachedTokens: 16, cacheWriteTokens: 0 }],
  ['Responses', openaiUsage, RESPONSES, { ...REPORTED, cachedTokens: 16, cacheWriteTokens: 0 }],
  ['Messages', anthropicUsage, MESSAGES, { ...REPORTED, cachedTokens: 10, cacheWriteTokens: 6 }],
] as const)('%s', (_, make, events, expected) => {
  const all = new TextEncoder().encode(events.join(''))

  test('its usage is read, from bytes and from text', () => {
    expect(usageIn(make, [all])).toEqual(expected)
    expect(usageIn(make, events)).toEqual(expected)
    expect(usageIn(make, [Buffer.from(all)])).toEqual(expected)
  })

  test('its usage is read wherever the bytes are cut', () => {
    for (let at = 0; at <= all.length; at++) {
      expect(usageIn(make, [all.subarray(0, at), all.subarray(at)]), `cut at ${at}`).toEqual(expected)
    }
    expect(
      usageIn(
        make,
        [...all].map((byte) => Uint8Array.of(byte)),
      ),
    ).toEqual(expected)
  })

  test('a stream that breaks off is not known, or is estimated', () => {
    for (let at = 0; at < all.length; at++) {
      const found = usageIn(make, [all.subarray(0, at)])
      expect(found === undefined || found.isReported, `cut at ${at}`).toBe(true)
      const estimated = usageIn(make, [all.subarray(0, at)], { inputTokens: 25, tokensOf: (text) => text.length / 2 })
      expect(estimated, `cut at ${at}`).toMatchObject({ inputTokens: estimated?.inputTokens === 20 ? 20 : 25 })
    }
  })

  test('bytes that are damaged anywhere do not throw', () => {
    const random = seededRandom()
    for (let round = 0; round < 300; round++) {
      const damaged = all.slice()
      for (let i = random.whole(1, 5); i > 0; i--) damaged[random.whole(0, all.length - 1)] = random.whole(0, 255)
      const found = usageIn(make, [damaged], { tokensOf: () => 1 })
      if (found !== undefined)
        for (const value of Object.values(found)) expect(typeof value === 'boolean' || value >= 0).toBe(true)
    }
  })
})

describe('OpenAI', () => {
  test('the estimate adds up the pieces of the answer', () => {
    const pieces = [
      chat('abcd'),
      event({ choices: [{ delta: { tool_calls: [{ function: { arguments: 'ef' } }] } }, { delta: { refusal: 'g' } }] }),
    ]
    expect(usageIn(openaiUsage, pieces, { inputTokens: 9, tokensOf: (text) => text.length })).toEqual({
      inputTokens: 9,
      cachedTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: 7,
      isReported: false,
    })
  })

  test('a server that reports the usage so far in every chunk has reported it with [DONE], or not at all', () => {
    const chunks = [1, 2, 3].map((tokens) => chat('x', { prompt_tokens: 5, completion_tokens: tokens }))
    expect(usageIn(openaiUsage, chunks)).toBeUndefined()
    expect(usageIn(openaiUsage, [...chunks, event('[DONE]')])).toMatchObject({
      inputTokens: 5,
      outputTokens: 3,
      isReported: true,
    })
  })

  test.each([
    ['a fraction', { prompt_tokens: 1.5, completion_tokens: 2 }],
    ['a negative number', { prompt_tokens: 5, completion_tokens: -2 }],
    ['a text', { prompt_tokens: '5', completion_tokens: 2 }],
    ['nothing', {}],
    ['a list', [1, 2]],
    ['a number above 2^53', { prompt_tokens: 5, completion_tokens: 1e300 }],
  ])('usage with %s is not known', (_, usage) => {
    expect(usageIn(openaiUsage, [event({ choices: [], usage })])).toBeUndefined()
  })

  test('members of a prototype are not read', () => {
    const data = '{"choices":[],"__proto__":{"usage":{"prompt_tokens":1,"completion_tokens":1}}}'
    expect(usageIn(openaiUsage, [event(data)])).toBeUndefined()
  })

  test('an event that is too long leaves the usage unknown', () => {
    const padded = event({ choices: [], padding: 'x'.repeat(2000), usage: { prompt_tokens: 5, completion_tokens: 2 } })
    expect(usageIn(openaiUsage, [padded], { maxEventBytes: 1000 })).toBeUndefined()
    expect(usageIn(openaiUsage, [padded], { maxEventBytes: 3000 })).toMatchObject({ outputTokens: 2 })
  })

  test('JSON that is nested a hundred thousand times does not throw', () => {
    const deep = `{"usage":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    expect(usageIn(openaiUsage, [event(deep), CHAT_USAGE])).toMatchObject(REPORTED)
  })
})

test('Anthropic: a stream that breaks off has the prompt that was reported, and the larger of estimate and report', () => {
  const options = { tokensOf: (text: string) => text.length }
  expect(usageIn(anthropicUsage, MESSAGES.slice(0, 1), options)).toMatchObject({
    inputTokens: 20,
    outputTokens: 1,
    isReported: false,
  })
  expect(usageIn(anthropicUsage, MESSAGES.slice(0, 3), options)).toMatchObject({
    inputTokens: 20,
    outputTokens: 9,
    isReported: false,
  })
})

const ZERO = (): number => 0

test.each([
  ['no units', {}, 'units'],
  ['tokensOf that is no function', { units: ZERO, tokensOf: 4 }, 'tokensOf'],
  ['a fraction of a prompt', { units: ZERO, inputTokens: 0.5 }, 'inputTokens'],
  ['no bytes for an event', { units: ZERO, maxEventBytes: 0 }, 'maxEventBytes'],
  ['an unknown option', { units: ZERO, unit: 5 }, 'unit'],
])('%s is refused', (_, options, option) => {
  for (const make of [openaiUsage, anthropicUsage]) {
    expect(() => make(options as never)).toThrow(expect.objectContaining({ code: 'ERR_OPTION', option }))
  }
})
