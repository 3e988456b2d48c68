import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { tokenBucket } from '../algorithms/token-bucket/token-bucket.ts'
import { decide } from '../core/decision.ts'
import { createLimiter } from '../create-limiter.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { legacyStyle } from './earlier-styles.ts'
import { createResponder } from './responder.ts'
import { anthropicStyle, openaiStyle } from './vendor-styles.ts'

const REQUESTS = fixedWindow({ limit: 60, window: '1m', name: 'requests' })
const TOKENS = tokenBucket({ capacity: 150_000, refill: 150_000, every: '6m', name: 'tokens' })
const MONEY = fixedWindow({ limit: 5_000_000, window: '1d', name: 'money' })

const NOW = Date.parse('2027-01-15T08:00:19.250Z')

function setUp() {
  const rules = [REQUESTS, TOKENS, MONEY]
  const clock = fakeClock(NOW)
  return { rules, clock, limiter: createLimiter({ rules, store: memoryStore({ clock }) }) }
}

test('openai: limit, remaining and reset of requests and tokens, and nothing about other rules', () => {
  const { rules, clock, limiter } = setUp()
  const responder = createResponder({ rules, clock, headers: openaiStyle })
  const decision = limiter.hit('ada', { cost: { tokens: 150_000, money: 900 } })
  expect(responder.headers(decision)).toEqual({
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '59',
    'x-ratelimit-reset-requests': '1m0s',
    'x-ratelimit-limit-tokens': '150000',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '6m0s',
  })
  const denial = responder.denial(limiter.hit('ada', { cost: { tokens: 1 } }))
  expect(denial.headers).toMatchObject({ 'x-ratelimit-remaining-tokens': '0', 'Retry-After': '1' })
})

test('anthropic: the same numbers, and the reset as a time', () => {
  const { rules, clock, limiter } = setUp()
  const responder = createResponder({ rules, clock, headers: anthropicStyle })
  expect(responder.headers(limiter.hit('ada', { cost: { tokens: 150_000 } }))).toEqual({
    'anthropic-ratelimit-requests-limit': '60',
    'anthropic-ratelimit-requests-remaining': '59',
    'anthropic-ratelimit-requests-reset': '2027-01-15T08:01:20Z',
    'anthropic-ratelimit-tokens-limit': '150000',
    'anthropic-ratelimit-tokens-remaining': '0',
    'anthropic-ratelimit-tokens-reset': '2027-01-15T08:06:20Z',
  })
})

test('anthropic counts input and output apart, if rules have these names', () => {
  const rules = ['input-tokens', 'output-tokens'].map((name) => fixedWindow({ limit: 10, window: '1m', name }))
  const fields = createResponder({ rules, headers: anthropicStyle }).headers(decide(rules, [1, 0, 1000, 2, 0, 1000]))
  expect(Object.keys(fields).filter((name) => name.endsWith('-remaining'))).toEqual([
    'anthropic-ratelimit-input-tokens-remaining',
    'anthropic-ratelimit-output-tokens-remaining',
  ])
})

test('a rule that was not asked has no fields', () => {
  const { rules, limiter } = setUp()
  const fields = createResponder({ rules, headers: openaiStyle }).headers(limiter.hit('ada', { cost: { tokens: 0 } }))
  expect(Object.keys(fields)).toEqual(['limit', 'remaining', 'reset'].map((part) => `x-ratelimit-${part}-requests`))
})

test('they stand beside a draft, legacy fields and each other', () => {
  const { rules, limiter } = setUp()
  const headers = ['draft-11', legacyStyle, openaiStyle, anthropicStyle] as const
  const fields = createResponder({ rules, headers }).headers(limiter.hit('ada'))
  expect(Object.keys(fields)).toHaveLength(2 + 3 + 6 + 6)
})

test('a limiter without a rule of these names is refused', () => {
  for (const headers of [openaiStyle, anthropicStyle]) {
    expect(() => createResponder({ rules: [MONEY], headers })).toThrow(
      expect.objectContaining({
        code: 'ERR_RULE_NAME',
        option: 'headers',
        message: expect.stringContaining('requests or tokens'),
      }),
    )
  }
})

test('no fields if the store failed and nothing was counted', () => {
  const failed = decide([REQUESTS], [0, 0, 0], { reason: 'timeout', then: 'allow' })
  expect(createResponder({ rules: [REQUESTS], headers: [openaiStyle, anthropicStyle] }).headers(failed)).toEqual({})
})

const reset = (style: typeof openaiStyle, resetAfterMs: number, nowMs = 0): string => {
  const responder = createResponder({ rules: [REQUESTS], headers: style, clock: { now: () => nowMs } })
  const fields = responder.headers(decide([REQUESTS], [1, 0, resetAfterMs]))
  return Object.entries(fields).find(([name]) => name.includes('reset'))?.[1] ?? ''
}

test.each([
  [0, '0s'],
  [1, '1ms'],
  [9, '9ms'],
  [999, '999ms'],
  [1000, '1s'],
  [1500, '1.5s'],
  [59_999, '59.999s'],
  [60_000, '1m0s'],
  [360_000, '6m0s'],
  [3_599_999, '59m59.999s'],
  [3_600_000, '1h0m0s'],
  [3_723_004, '1h2m3.004s'],
  [2_592_000_000, '720h0m0s'],
])('openai spells %i ms as %s', (ms, text) => {
  expect(reset(openaiStyle, ms)).toBe(text)
})

test('every duration is spelled so that its parts add up to it', () => {
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 48 }), (ms) => {
      const text = reset(openaiStyle, ms)
      const parts = [...text.matchAll(/([\d.]+)(ms|h|m|s)/g)]
      expect(parts.map(([part]) => part).join('')).toBe(text)
      const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
      expect(Math.round(parts.reduce((sum, [, number, unit]) => sum + Number(number) * unitMs[unit], 0))).toBe(ms)
    }),
  )
})

test.each([
  [0, '1970-01-01T00:00:00Z'],
  [1, '1970-01-01T00:00:01Z'],
  [253_402_300_799_000, '9999-12-31T23:59:59Z'],
  [8.64e15, '9999-12-31T23:59:59Z'],
])('anthropic: at %i ms since the epoch a window that ends now ends at %s', (nowMs, text) => {
  expect(reset(anthropicStyle, 0, nowMs)).toBe(text)
  expect(reset(anthropicStyle, 2 ** 48, 8.64e15)).toBe('9999-12-31T23:59:59Z')
})
