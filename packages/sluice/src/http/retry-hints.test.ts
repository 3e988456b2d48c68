import { describe, expect, test } from 'vitest'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { type Decision, decide } from '../core/decision.ts'
import { createLimiter } from '../create-limiter.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { createResponder } from './responder.ts'
import { type RetryHintsOptions, retryHints } from './retry-hints.ts'

const MONTHLY = fixedWindow({ limit: 2, window: '30d', name: 'monthly' })
const TYPE = 'https://api.example.com/problems/budget-spent'
const ALL = { milliseconds: true, shouldRetry: true, problemType: TYPE } as const

/** A denial for each kind of no. */
function denials() {
  const clock = fakeClock()
  const limiter = createLimiter({ rules: MONTHLY, store: memoryStore({ clock }), retryWithinMs: 3_600_000 })
  const allowed = limiter.hit('ada', { cost: 2 })
  const spent = limiter.hit('ada')
  const never = limiter.hit('ada', { cost: 3 })
  clock.advance(30 * 86_400_000 - 1500)
  return { allowed, spent, never, soon: limiter.hit('ada') }
}

const responderOf = (hints?: RetryHintsOptions) =>
  createResponder({ rules: [MONTHLY], headers: hints === undefined ? false : retryHints(hints) })

const problemOf = (hints: RetryHintsOptions | undefined, denial: Decision) => JSON.parse(responderOf(hints).denial(denial).body)

const QUOTA = { type: 'https://iana.org/assignments/http-problem-types#quota-exceeded', title: 'Quota Exceeded', status: 429 }

test('without hints: Retry-After if waiting cures the denial, none if it does not, and another detail', () => {
  const { soon, spent, never } = denials()
  const responder = responderOf()
  expect(responder.headers(soon)).toEqual({ 'Retry-After': '2' })
  expect(responder.headers(spent)).toEqual({})
  expect(responder.headers(never)).toEqual({})
  const common = { ...QUOTA, 'violated-policies': ['monthly'] }
  expect(problemOf(undefined, soon)).toEqual({ ...common, detail: 'Try again in 2 s.' })
  for (const denial of [spent, never]) {
    expect(problemOf(undefined, denial)).toEqual({ ...common, detail: 'Waiting does not help.' })
  }
})

test('the rate limit fields are the same for both kinds', () => {
  const { spent } = denials()
  const responder = createResponder({ rules: [MONTHLY], headers: ['draft-11', retryHints({ milliseconds: true })] })
  expect(responder.headers(spent)).toEqual({
    'RateLimit-Policy': '"monthly";q=2;w=2592000',
    RateLimit: '"monthly";r=0;t=2592000',
  })
})

describe('hints', () => {
  const { allowed, soon, spent, never } = denials()

  test('an allowed decision has none', () => {
    expect(responderOf(ALL).headers(allowed)).toEqual({})
  })

  test('milliseconds: the exact wait beside the whole seconds', () => {
    const responder = responderOf({ milliseconds: true })
    expect(responder.headers(soon)).toEqual({ 'Retry-After': '2', 'Retry-After-Ms': '1500' })
    for (const denial of [spent, never]) expect(responder.headers(denial)).toEqual({})
  })

  test('shouldRetry: false where waiting does not help, and no field otherwise', () => {
    const responder = responderOf({ shouldRetry: true })
    expect(responder.headers(soon)).toEqual({ 'Retry-After': '2' })
    for (const denial of [spent, never]) expect(responder.headers(denial)).toEqual({ 'x-should-retry': 'false' })
  })

  test('problemType: a type and title of its own where waiting does not help', () => {
    for (const denial of [spent, never]) {
      expect(problemOf({ problemType: TYPE }, denial)).toMatchObject({ type: TYPE, title: 'Waiting Does Not Help', status: 429 })
    }
    expect(problemOf({ problemType: TYPE }, soon)).toMatchObject(QUOTA)
    expect(problemOf({ shouldRetry: true }, spent)).toMatchObject(QUOTA)
  })

  test('a denial without the store has its own problem, and no hints but Retry-After', () => {
    const failed = decide([MONTHLY], [Number.MAX_SAFE_INTEGER, 500, 500], { reason: 'timeout', then: 'deny' })
    const { status, headers, body } = responderOf(ALL).denial(failed)
    expect(status).toBe(503)
    expect(headers).toEqual({ 'Retry-After': '1', 'Content-Type': 'application/problem+json' })
    expect(JSON.parse(body).type).toMatch(/#temporary-reduced-capacity$/)
  })
})

describe('wrong options are refused', () => {
  test.each([
    ['no options', undefined, /takes an object of options/],
    ['a flag', true, /takes an object of options/],
    ['a misspelt option', { millisecond: true }, /has no option "millisecond"/],
    ['milliseconds that are a number', { milliseconds: 1 }, /milliseconds must be true or false, got 1/],
    ['shouldRetry that is a text', { shouldRetry: 'false' }, /shouldRetry must be true or false, got "false"/],
    ['null', { shouldRetry: null }, /shouldRetry must be true or false, got null/],
    ['an empty type', { problemType: '' }, /problemType must be a URI/],
    ['a type with a space', { problemType: 'budget spent' }, /problemType must be a URI/],
    ['a type with a line end', { problemType: 'https://a.example/\n' }, /problemType must be a URI/],
    ['a type that is an address', { problemType: new URL(TYPE) }, /problemType must be a URI/],
  ])('%s', (_, options, message) => {
    expect(() => retryHints(options as RetryHintsOptions)).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION', message: expect.stringMatching(message) }),
    )
  })
})
