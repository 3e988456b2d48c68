import fc from 'fast-check'
import { type BareItem, parseDictionary, parseItem, parseList } from 'structured-headers'
import { describe, expect, test } from 'vitest'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { gcra } from '../algorithms/gcra/gcra.ts'
import { slidingLog } from '../algorithms/sliding-log/sliding-log.ts'
import { slidingWindow } from '../algorithms/sliding-window/sliding-window.ts'
import { tokenBucket } from '../algorithms/token-bucket/token-bucket.ts'
import type { Clock } from '../core/clock.ts'
import { type Decision, decide } from '../core/decision.ts'
import { SluiceError } from '../core/errors.ts'
import type { Rule } from '../core/rule.ts'
import type { Store } from '../core/store.ts'
import { createLimiter } from '../create-limiter.ts'
import { storeGuard } from '../failure/store-health.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { everyRule } from '../testing/example-rules.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { draft6Style, draft7Style, legacyStyle } from './earlier-styles.ts'
import { createResponder, type ResponderOptions } from './responder.ts'

const BURST = tokenBucket({ capacity: 20, refill: 10, every: '1s', name: 'burst' })
const DAILY = fixedWindow({ limit: 10_000, window: '1d', name: 'daily' })

function setUp(rules: Rule | readonly Rule[], options: Omit<ResponderOptions, 'rules'> = {}) {
  const clock = fakeClock()
  const limiter = createLimiter({ rules, store: memoryStore({ clock }) })
  return { clock, limiter, responder: createResponder({ rules: limiter.rules, clock, ...options }) }
}

/** Members of a list of items, with parameters as an object. */
function members(field: string): [BareItem, Record<string, unknown>][] {
  return parseList(field).map(([item, parameters]) => [item as BareItem, Object.fromEntries(parameters)])
}

describe('draft-11', () => {
  test('each rule has a member, with its quota and window, and with what is left and for how long', () => {
    const { limiter, responder, clock } = setUp([BURST, DAILY])
    limiter.hit('ada')
    clock.advance(1000)
    expect(responder.headers(limiter.hit('ada'))).toEqual({
      'RateLimit-Policy': '"burst";q=20;w=2, "daily";q=10000;w=86400',
      RateLimit: '"burst";r=19;t=1, "daily";r=9998;t=86399',
    })
  })

  test('one rule alone', () => {
    const { limiter, responder } = setUp(DAILY)
    expect(responder.headers(limiter.hit('ada'))).toEqual({
      'RateLimit-Policy': '"daily";q=10000;w=86400',
      RateLimit: '"daily";r=9999;t=86400',
    })
  })

  test('a partition key comes with every member of both fields, as bytes', () => {
    const { limiter, responder } = setUp([BURST, DAILY])
    const headers = responder.headers(limiter.hit('ada'), 'ada')
    expect(headers.RateLimit).toBe('"burst";r=19;t=1;pk=:YWRh:, "daily";r=9999;t=86400;pk=:YWRh:')
    expect(headers['RateLimit-Policy']).toBe('"burst";q=20;w=2;pk=:YWRh:, "daily";q=10000;w=86400;pk=:YWRh:')
    expect(responder.headers(limiter.hit('ada'), new Uint8Array([255, 0])).RateLimit).toContain(';pk=:/wA=:')
    expect(responder.headers(limiter.hit('ada'), '').RateLimit).toContain(';pk=::')
  })

  test.each(everyRule().map((rule) => [rule.name, rule] as const))(
    '%s: r units pass at once, and while some are left t is at most w',
    (_name, rule) => {
      const { limiter, responder, clock } = setUp(rule)
      for (let step = 0; step < 40; step++) {
        const decision = limiter.hit('ada', { cost: 1 + (step % 3) })
        const headers = responder.headers(decision)
        const [[, { q, w }]] = members(headers['RateLimit-Policy']) as [[string, Record<string, number>]]
        const [[name, { r, t }]] = members(headers.RateLimit) as [[string, Record<string, number>]]
        expect({ name, q, w }).toEqual({ name: rule.name, q: rule.limit, w: Math.ceil(rule.windowMs / 1000) })
        expect(r).toBe(decision.remaining)
        if (r > 0) expect(limiter.peek('ada', { cost: r }).allowed).toBe(true)
        expect(headers['Retry-After']).toBe(decision.allowed || decision.retryAfterMs === Infinity ? undefined : `${t}`)
        if (decision.allowed && r > 0) expect(t).toBeLessThanOrEqual(w)
        clock.advance(Math.floor(rule.windowMs / 7))
      }
    },
  )

  test('any name, limit and window make fields that an independent parser reads, one member for each rule', () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 50 }),
      fc.string({ unit: fc.constantFrom('"', '\\', '%', '\r\n', ',', ';', '😀', '\ud83d', ' '), minLength: 1, maxLength: 9 }),
    )
    const numbers = fc.record({
      name,
      limit: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      window: fc.integer({ min: 1, max: 2 ** 47 }),
    })
    const rules = fc.uniqueArray(numbers, { minLength: 1, maxLength: 5, selector: (each) => each.name })
    fc.assert(
      fc.property(rules, fc.option(fc.string({ unit: 'binary' })), (written, partitionKey) => {
        const { limiter, responder } = setUp(written.map(fixedWindow))
        const headers = responder.headers(limiter.hit('ada'), partitionKey ?? undefined)
        const policies = members(headers['RateLimit-Policy'])
        const limits = members(headers.RateLimit)
        expect(policies).toHaveLength(written.length)
        expect(limits.map(([item]) => item)).toEqual(policies.map(([item]) => item))
        expect(new Set(limits.map(([item]) => item)).size).toBe(written.length)
        for (const value of Object.values(headers)) expect(() => new Headers([['x', value]])).not.toThrow()
      }),
    )
  })

  test('an empty name, which a rule of somebody else may have, is an empty string', () => {
    const rule = { ...fixedWindow({ limit: 3, window: '1m' }), name: '' } as Rule
    expect(createResponder({ rules: [rule] }).headers(decide([rule], [1, 0, 60_000]))).toEqual({
      'RateLimit-Policy': '"";q=3;w=60',
      RateLimit: '"";r=2;t=60',
    })
  })
})

describe('t', () => {
  const t = (rule: Rule, decision: Decision): unknown =>
    members(createResponder({ rules: [rule] }).headers(decision).RateLimit)[0][1].t

  test('is the rest of a fixed window', () => {
    const rule = fixedWindow({ limit: 2, window: '1m' })
    const { limiter, clock } = setUp(rule)
    expect(t(rule, limiter.hit('ada'))).toBe(60)
    clock.advance(10_001)
    expect(t(rule, limiter.hit('ada'))).toBe(50)
    expect(t(rule, limiter.hit('ada'))).toBe(50)
  })

  test('is when a denied hit passes, or until all is there again', () => {
    const rule = slidingLog({ limit: 2, window: '1m' })
    const { limiter, clock } = setUp(rule)
    limiter.hit('ada')
    clock.advance(20_000)
    expect(t(rule, limiter.hit('ada'))).toBe(60)
    expect(t(rule, limiter.hit('ada'))).toBe(40)
  })

  test('is no longer than the window while something is left, where a sliding window takes two to forget', () => {
    const rule = slidingWindow({ limit: 2, window: '1m' })
    const { limiter } = setUp(rule)
    const decision = limiter.hit('ada')
    expect(decision.resetAfterMs).toBe(120_000)
    expect(t(rule, decision)).toBe(60)
    expect(t(rule, limiter.hit('ada'))).toBe(120)
  })

  test.each(everyRule().map((rule) => [rule.name, rule] as const))(
    '%s: who spends r and waits t is never denied, and gets more',
    (_name, rule) => {
      const { limiter, responder, clock } = setUp(rule)
      let spent = 0
      for (let step = 0; step < 30; step++) {
        const { r } = members(responder.headers(limiter.peek('ada', { cost: 0 })).RateLimit)[0][1] as Record<string, number>
        expect(r).toBeGreaterThan(0)
        // Every second step leaves one unit.
        const cost = Math.max(1, r - (step % 2))
        const decision = limiter.hit('ada', { cost })
        expect(decision.allowed).toBe(true)
        spent += cost
        const waits = members(responder.headers(decision).RateLimit)[0][1] as Record<string, number>
        clock.advance(waits.t * 1000)
      }
      expect(spent).toBeGreaterThan(rule.limit)
    },
  )

  test('is when the rest is there again, for a cost that never passes', () => {
    const rule = gcra({ limit: 10, period: '1s', burst: 20 })
    const { limiter } = setUp(rule)
    expect(t(rule, limiter.hit('ada', { cost: 21 }))).toBe(0)
    limiter.hit('ada', { cost: 20 })
    expect(t(rule, limiter.hit('ada', { cost: 21 }))).toBe(2)
  })

  test('rounds up, and w is never 0', () => {
    const rule = fixedWindow({ limit: 2, window: '250ms', name: 'quick' })
    const { limiter, responder } = setUp(rule)
    const headers = responder.headers(limiter.hit('ada'))
    expect(headers).toEqual({ 'RateLimit-Policy': '"quick";q=2;w=1', RateLimit: '"quick";r=1;t=1' })
  })
})

describe('Retry-After', () => {
  test('is in whole seconds, rounded up: a client that waits so long passes', () => {
    const { limiter, responder, clock } = setUp(tokenBucket({ capacity: 3, refill: 1, every: 1700 }))
    limiter.hit('ada', { cost: 3 })
    const { 'Retry-After': retryAfter } = responder.headers(limiter.hit('ada'))
    expect(retryAfter).toBe('2')
    clock.advance(1000)
    expect(limiter.hit('ada').allowed).toBe(false)
    clock.advance(1000)
    expect(limiter.hit('ada').allowed).toBe(true)
  })

  test('is the longest wait of the rules that deny', () => {
    const { limiter, responder } = setUp([BURST, fixedWindow({ limit: 20, window: '1h', name: 'hourly' })])
    limiter.hit('ada', { cost: 20 })
    const headers = responder.headers(limiter.hit('ada'))
    expect(headers['Retry-After']).toBe('3600')
    expect(headers.RateLimit).toBe('"burst";r=0;t=1, "hourly";r=0;t=3600')
  })

  test('is missing when the hit is allowed, and when it can never pass', () => {
    const { limiter, responder } = setUp(DAILY)
    expect(responder.headers(limiter.hit('ada'))).not.toHaveProperty('Retry-After')
    expect(responder.headers(limiter.hit('ada', { cost: 10_001 }))).not.toHaveProperty('Retry-After')
  })
})

test('draft-10 is another name for draft-11, the default', () => {
  const decision = setUp([BURST, DAILY]).limiter.hit('ada')
  const fields = (headers?: ResponderOptions['headers']) =>
    createResponder({ rules: [BURST, DAILY], ...(headers && { headers }) }).headers(decision, 'ada')
  expect(fields('draft-10')).toEqual(fields())
  expect(fields('draft-11')).toEqual(fields())
})

describe('other styles', () => {
  const minute = fixedWindow({ limit: 100, window: '1m', name: 'minute' })
  const hour = fixedWindow({ limit: 1000, window: '1h', name: 'hour' })

  test('draft-7 is about the reported rule', () => {
    const { limiter, responder } = setUp([minute, hour], { headers: draft7Style })
    const headers = responder.headers(limiter.hit('ada', { cost: 30 }))
    expect(headers).toEqual({ 'RateLimit-Policy': '100;w=60, 1000;w=3600', RateLimit: 'limit=100, remaining=70, reset=60' })
    expect(Object.fromEntries([...parseDictionary(headers.RateLimit)].map(([key, [value]]) => [key, value]))).toEqual({
      limit: 100,
      remaining: 70,
      reset: 60,
    })
    expect(members(headers['RateLimit-Policy'])).toEqual([
      [100, { w: 60 }],
      [1000, { w: 3600 }],
    ])
  })

  test('draft-6 has a field for each number', () => {
    const { limiter, responder } = setUp([minute, hour], { headers: draft6Style })
    const headers = responder.headers(limiter.hit('ada', { cost: 30 }))
    expect(headers).toEqual({
      'RateLimit-Policy': '100;w=60, 1000;w=3600',
      'RateLimit-Limit': '100',
      'RateLimit-Remaining': '70',
      'RateLimit-Reset': '60',
    })
    for (const field of ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']) {
      expect(parseItem(headers[field])[0]).toBe(Number(headers[field]))
    }
  })

  test('of policies with one quota, earlier drafts may show one: the stricter', () => {
    const rules = [minute, fixedWindow({ limit: 100, window: '1d', name: 'day' }), hour]
    const { limiter, responder } = setUp(rules, { headers: draft7Style })
    expect(responder.headers(limiter.hit('ada'))['RateLimit-Policy']).toBe('100;w=86400, 1000;w=3600')
  })

  test('legacy counts the reset in seconds since the epoch, by the clock that it was given', () => {
    const clock: Clock = { now: () => 1_700_000_000_400 }
    const { limiter, responder } = setUp(minute, { headers: legacyStyle, clock })
    expect(responder.headers(limiter.hit('ada'))).toEqual({
      'X-RateLimit-Limit': '100',
      'X-RateLimit-Remaining': '99',
      'X-RateLimit-Reset': '1700000061',
    })
  })

  test('legacy reads the system clock unless it is given one', () => {
    const { limiter } = setUp(minute)
    const responder = createResponder({ rules: limiter.rules, headers: legacyStyle })
    const before = Date.now()
    const reset = Number(responder.headers(limiter.hit('ada'))['X-RateLimit-Reset'])
    expect(reset).toBeGreaterThanOrEqual(Math.ceil((before + 60_000) / 1000))
    expect(reset).toBeLessThanOrEqual(Math.ceil((Date.now() + 60_000) / 1000))
  })

  test('legacy can stand beside a draft; false leaves only Retry-After', () => {
    const both = setUp(minute, { headers: ['draft-11', legacyStyle] })
    expect(Object.keys(both.responder.headers(both.limiter.hit('ada')))).toEqual([
      'RateLimit-Policy',
      'RateLimit',
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
    ])
    const none = setUp(minute, { headers: false })
    expect(none.responder.headers(none.limiter.hit('ada', { cost: 100 }))).toEqual({})
    expect(none.responder.headers(none.limiter.hit('ada'))).toEqual({ 'Retry-After': '60' })
  })
})

describe('denial', () => {
  test('is a 429 with a problem that names the rules that deny', () => {
    const { limiter, responder } = setUp([BURST, DAILY])
    limiter.hit('ada', { cost: 20 })
    const { status, headers, body } = responder.denial(limiter.hit('ada'))
    expect(status).toBe(429)
    expect(headers).toEqual({
      'RateLimit-Policy': '"burst";q=20;w=2, "daily";q=10000;w=86400',
      RateLimit: '"burst";r=0;t=1, "daily";r=9980;t=86400',
      'Retry-After': '1',
      'Content-Type': 'application/problem+json',
    })
    expect(JSON.parse(body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota Exceeded',
      status: 429,
      detail: 'Try again in 1 s.',
      'violated-policies': ['burst'],
    })
  })

  test('names a rule as the fields do', () => {
    const { limiter, responder } = setUp(fixedWindow({ limit: 1, window: '1m', name: 'täglich "1"' }))
    limiter.hit('ada')
    const { headers, body } = responder.denial(limiter.hit('ada'))
    expect(JSON.parse(body)['violated-policies']).toEqual([members(headers.RateLimit)[0][0]])
  })

  test('says so when waiting does not help', () => {
    const { limiter, responder } = setUp(BURST)
    const { headers, body } = responder.denial(limiter.hit('ada', { cost: 21 }))
    expect(headers).not.toHaveProperty('Retry-After')
    expect(JSON.parse(body).detail).toBe('Waiting does not help.')
  })

  const rules = [BURST, DAILY]
  const gone = (): Promise<never> => Promise.reject(new SluiceError('ERR_STORE_FATAL', 'gone'))
  const goneStore = (): Store<'async'> => ({
    timing: 'async',
    clock: fakeClock(),
    guard: storeGuard(fakeClock()),
    tally: () => ({ ask: gone }),
    clean: gone,
    size: Promise.resolve(0),
    close: async () => {},
  })
  const withoutStore = (then: 'local' | 'allow' | 'deny', cost = 1): Promise<Decision> =>
    createLimiter({ rules, store: goneStore(), failure: { then } }).hit('ada', { cost })

  test('is a 503 without quota fields if the store fails and the fallback is deny', async () => {
    const { status, headers, body } = createResponder({ rules }).denial(await withoutStore('deny'))
    expect(status).toBe(503)
    expect(headers).toEqual({ 'Retry-After': '1', 'Content-Type': 'application/problem+json' })
    expect(JSON.parse(body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      title: 'Temporary Reduced Capacity',
      status: 503,
      detail: 'Try again in 1 s.',
      'violated-policies': [],
    })
  })

  test('is a 429 when a stand-in counted, or when the store itself denies', async () => {
    const counted = createResponder({ rules }).denial(await withoutStore('local', 21))
    expect(counted.status).toBe(429)
    expect(JSON.parse(counted.body)['violated-policies']).toEqual(['burst'])
    const fromStore = decide(rules, [20, 1000, 1000, 5, 0, 1000])
    expect(createResponder({ rules }).denial(fromStore).status).toBe(429)
  })

  test.each([
    ['draft-11', 'draft-11'],
    ['draft-10', 'draft-10'],
    ['draft-7', draft7Style],
    ['draft-6', draft6Style],
    ['legacy', legacyStyle],
  ] as const)(
    'an allowed decision has no %s fields if nothing was counted, and has them if a stand-in counted',
    async (_, style) => {
      const responder = createResponder({ rules, headers: style })
      expect(responder.headers(await withoutStore('allow'))).toEqual({})
      expect(Object.keys(responder.headers(await withoutStore('local'))).length).toBeGreaterThanOrEqual(2)
    },
  )
})

describe('wrong options are refused', () => {
  const make = (options: unknown) => () => createResponder(options as ResponderOptions)

  test.each([
    ['no options', undefined, /takes an object of options/],
    ['no rules', {}, /rules to be the rules of a limiter, got undefined/],
    ['an empty list', { rules: [] }, /rules to be the rules of a limiter/],
    ['a misspelt option', { rules: [DAILY], header: 'draft-11' }, /has no option "header": there is .*headers/],
    ['an unknown style', { rules: [DAILY], headers: 'draft-8' }, /headers must be 'draft-11', .* or false, got "draft-8"/],
    ['a style that has to be imported', { rules: [DAILY], headers: 'legacy' }, /a style of sluice\/http or false, got "legacy"/],
    ['a style that is a name of Object', { rules: [DAILY], headers: 'toString' }, /got "toString"/],
    ['a style that is null', { rules: [DAILY], headers: [null] }, /headers must be .* got null/],
    ['a style that is an object', { rules: [DAILY], headers: { style: 'openai' } }, /headers must be .* got an object/],
    ['two names of one draft', { rules: [DAILY], headers: ['draft-11', 'draft-10'] }, /one draft, got draft-11, draft-10/],
    ['two drafts', { rules: [DAILY], headers: ['draft-10', draft7Style] }, /one draft, got draft-10, draft-7/],
  ])('%s', (_what, options, message) => {
    expect(make(options)).toThrow(expect.objectContaining({ code: 'ERR_OPTION', message: expect.stringMatching(message) }))
  })

  test('two different rules of one name; the same rule twice is one policy', () => {
    const other = fixedWindow({ limit: 9, window: '1d', name: 'daily' })
    expect(make({ rules: [DAILY, other] })).toThrow(
      expect.objectContaining({
        code: 'ERR_RULE_NAME',
        message: expect.stringContaining('two different rules are called "daily"'),
      }),
    )
    const { limiter } = setUp(DAILY)
    const headers = createResponder({ rules: [DAILY, DAILY] }).headers(limiter.hit('ada'))
    expect(headers).toEqual({ 'RateLimit-Policy': '"daily";q=10000;w=86400', RateLimit: '"daily";r=9999;t=86400' })
  })

  test("another limiter's decision", () => {
    const { limiter } = setUp(BURST)
    const responder = createResponder({ rules: [DAILY] })
    expect(() => responder.headers(limiter.hit('ada'))).toThrow(expect.objectContaining({ code: 'ERR_RULE_NAME' }))
  })
})
