import { createLimiter, memoryStore } from 'sluice'
import { fakeClock } from 'sluice/testing'
import { describe, expect, test } from 'vitest'
import { ServerError } from '../errors.ts'
import { builtInDefault, readPolicies, readPolicy } from './policy.ts'

const policy = (spec: object) => readPolicy({ name: 'p', client: 'acme', ...spec }, 'api')

function problemsOf(spec: unknown): string[] {
  try {
    readPolicy(spec, 'api')
  } catch (error) {
    if (error instanceof ServerError && error.code === 'ERR_INPUT') return error.problems.map(({ message }) => message)
    throw error
  }
  return []
}

describe('a policy', () => {
  test('has its written fields, with defaults, and keeps them', () => {
    const spec = { name: 'p', route: '/v1/*', rules: '100/minute' }
    const full = { name: 'p', client: '*', route: '/v1/*', rules: ['100/minute'], mode: 'enforce', scope: 'route' }
    const { rules, ...rest } = readPolicy(spec, 'api')
    expect(rest).toEqual({ ...full, rules: undefined, source: 'api', spec: full })
    expect(rules).toHaveLength(1)
  })

  test('has up to sixteen rules', () => {
    const rules = Array.from({ length: 16 }, (_, i) => `${i + 1}/minute`)
    expect(policy({ rules }).rules).toHaveLength(16)
  })

  test('has real rules, in every form', () => {
    const { rules } = policy({
      rules: [
        '100/minute',
        { algorithm: 'fixed-window', limit: 5, window: '1m', anchor: 'clock' },
        { algorithm: 'fixed-window', limit: 5, window: '1m', countDenied: true },
        { algorithm: 'fixed-window', limit: 5, window: '1m', elastic: true },
        { algorithm: 'sliding-log', limit: 5, window: 1000 },
        { algorithm: 'sliding-window', limit: 5, window: '1m', anchor: 'clock', round: 'none' },
        { algorithm: 'token-bucket', capacity: 20, refill: 5, every: '1s', style: 'stepped' },
        { algorithm: 'token-bucket', capacity: 20, refill: 5, every: '1s' },
        { algorithm: 'gcra', limit: 10, period: '1s', burst: 20 },
        { algorithm: 'leaky-bucket', capacity: 20, leak: 10, every: '1s', name: 'queue' },
        'token-bucket 10/second burst 7',
        { algorithm: 'calendar-window', limit: 5, every: 'day' },
        { algorithm: 'calendar-window', limit: 5, every: 'month', startsOn: 15, timeZone: 'Europe/Berlin' },
        { algorithm: 'calendar-window', limit: 5, every: 'week', startsOn: 'sunday 09:00' },
        '9/calendar month',
      ],
    })
    expect(rules.map(({ algorithm, limit, countsDenied }) => [algorithm, limit, countsDenied])).toEqual([
      ['fixed-window', 100, false],
      ['fixed-window', 5, false],
      ['fixed-window', 5, true],
      ['fixed-window', 5, true],
      ['sliding-log', 5, false],
      ['sliding-window', 5, false],
      ['stepped-meter', 20, false],
      ['meter', 20, false],
      ['meter', 20, false],
      ['meter', 20, false],
      ['meter', 7, false],
      ['calendar-window', 5, false],
      ['calendar-window', 5, false],
      ['calendar-window', 5, false],
      ['calendar-window', 9, false],
    ])
  })

  test('with a calendar that there is not says what is wrong with it', () => {
    const rules = { algorithm: 'calendar-window', limit: 5, every: 'month' }
    const problems = (wrong: object) => problemsOf({ name: 'p', client: 'a', rules: { ...rules, ...wrong } }).join()
    expect(problems({ timeZone: 'Mars/Base' })).toMatch(
      /^rules.timeZone: calendarWindow needs timeZone to be the name of a time zone/,
    )
    expect(problems({ startsOn: 31 })).toMatch(/^rules.startsOn: calendarWindow needs startsOn to be a day from 1 to 28/)
    expect(problems({ every: 'hour' })).toMatch(/rules.every must be .*day.*week.*month.* or .*year/)
    expect(problems({ every: undefined })).toMatch(/rules.every/)
    expect(problems({ startsOn: true })).toMatch(/rules.startsOn must be a text such as '09:00', or a whole number/)
    expect(problems({ timeZone: 7 })).toMatch(/rules.timeZone must be a text such as 'Europe\/Berlin'/)
    expect(problems({ timeZone: 'x'.repeat(65) })).toMatch(/rules.timeZone/)
    expect(problems({ startsOn: -1 })).toMatch(/rules.startsOn/)
  })

  test('can be written again from its spec', () => {
    const first = policy({ rules: ['5/second; 9/minute', { algorithm: 'gcra', limit: 10, period: '1s', name: 'x' }] })
    const again = readPolicy(JSON.parse(JSON.stringify(first.spec)), 'api')
    expect(again).toEqual(first)
  })
})

describe('the name of a rule', () => {
  test('is the given one, otherwise its position among all rules', () => {
    const { rules } = policy({
      rules: ['5/second; 100/minute', { algorithm: 'sliding-log', limit: 9, window: '1h', name: 'hour' }, '9/day'],
    })
    expect(rules.map(({ name }) => name)).toEqual(['rule-1', 'rule-2', 'hour', 'rule-4'])
  })

  test('stays when its limits change, so that usage is kept', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock })
    const before = policy({ rules: ['100/minute', { algorithm: 'token-bucket', capacity: 50, refill: 1, every: '1h' }] })
    const after = policy({ rules: ['200/minute', { algorithm: 'token-bucket', capacity: 80, refill: 2, every: '1h' }] })
    createLimiter({ rules: before.rules, store }).hit('acme /v1', { cost: 40 })
    const { rules } = createLimiter({ rules: after.rules, store }).peek('acme /v1', { cost: 0 })
    expect(rules.map(({ remaining }) => remaining)).toEqual([160, 40])
  })
})

describe('problems of a policy are reported with their place', () => {
  test.each<[unknown, string]>([
    [null, 'it must be a policy, got null'],
    [{}, 'name is missing: it must be a name of 1 to 64 letters, digits and . _ : - that begins with a letter or digit'],
    [
      { name: 'a b', rules: '1/s' },
      'name must be a name of 1 to 64 letters, digits and . _ : - that begins with a letter or digit, got "a b"',
    ],
    [{ name: 'p', clint: 'acme', rules: '1/s' }, 'it has no "clint": did you mean client?'],
    [{ name: 'p', client: 'a*b', rules: '1/s' }, 'client must be a client, a prefix that ends in *, or * for all, got "a*b"'],
    [{ name: 'p', client: 7, rules: '1/s' }, 'client must be a client, a prefix that ends in *, or * for all, got 7'],
    [{ name: 'p', client: 'a', rules: [] }, 'rules must be a list of 1 to 16, and has 0'],
    [
      { name: 'p', client: 'a', rules: 5 },
      "rules must be a rule or a list of 1 to 16: in notation such as '100/minute', or an object with its algorithm, got 5",
    ],
    [{ name: 'p', client: 'a', rules: ['5/secnd'] }, 'rules[0]: no unit is called "secnd", in "5/secnd": did you mean second?'],
    [
      { name: 'p', client: 'a', rules: [{ limit: 5 }] },
      'rules[0].algorithm is missing: it must be "fixed-window" or "sliding-log" or "sliding-window" or "token-bucket" or "gcra" or "leaky-bucket" or "calendar-window" or "concurrency"',
    ],
    [
      { name: 'p', client: 'a', rules: { algorithm: 'fixed-windw', limit: 5 } },
      'rules.algorithm must be "fixed-window" or "sliding-log" or "sliding-window" or "token-bucket" or "gcra" or "leaky-bucket" or "calendar-window" or "concurrency", got "fixed-windw": did you mean fixed-window?',
    ],
    [
      { name: 'p', client: 'a', rules: [{ algorithm: 'gcra', limit: 5, perod: '1s' }] },
      'rules[0] has no "perod": did you mean period?',
    ],
    [
      { name: 'p', client: 'a', rules: [{ algorithm: 'gcra', limit: 0, period: '1s' }] },
      'rules[0].limit must be a whole number of at least 1, got 0',
    ],
    [
      { name: 'p', client: 'a', rules: [{ algorithm: 'gcra', limit: 1, period: '1 s' }] },
      "rules[0].period must be a duration: whole milliseconds, or such as '250ms', '10s', '1m', '2h', '7d', got \"1 s\"",
    ],
    [
      { name: 'p', client: 'a', rules: [{ algorithm: 'fixed-window', limit: 1, window: '1s', anchor: 'clock', elastic: true }] },
      "rules[0].elastic: fixedWindow cannot be elastic with anchor 'clock'",
    ],
    [
      { name: 'p', client: 'a', rules: { algorithm: 'sliding-window', limit: 2 ** 40, window: '1d' } },
      'rules.limit: slidingWindow multiplies limit and window, and 1099511627776 × 86400000 ms passes 2^53: use a smaller one, or fixedWindow',
    ],
    [{ name: 'p', client: 'a', rules: '5/secnd' }, 'rules: no unit is called "secnd", in "5/secnd": did you mean second?'],
    [
      { name: 'p', client: 'a', rules: ['9/minute', { algorithm: 'gcra', limit: 9, period: '1s', name: 'rule-1' }] },
      'two of rules are called "rule-1": give each a name of its own',
    ],
    [
      { name: 'p', client: 'a', rules: [Array(9).fill('9/minute').join(';'), Array(9).fill('9/minute').join(';')] },
      'rules must be 1 to 16 in all, and has 18',
    ],
    [
      { name: 'p', client: 'a', rules: '1/s', mode: 'enforced' },
      'mode must be "enforce" or "shadow" or "off", got "enforced": did you mean enforce?',
    ],
    [
      { name: 'default', client: 'a', rules: '1/s' },
      'the policy called default covers all clients and routes: leave out client and route, or set both to *',
    ],
    [
      { name: 'p', rules: '1/s' },
      'the policy "p" needs a client or a route: the one for all clients and routes is called default',
    ],
  ])('%j', (spec, message) => {
    expect(problemsOf(spec)[0]).toBe(message)
  })

  test('for all places at once', () => {
    const rules = ['5/secnd', '9/minute', { algorithm: 'sliding-window', limit: Number.MAX_SAFE_INTEGER, window: '7d' }]
    expect(problemsOf({ name: 'p', client: 'a', rules })).toHaveLength(2)
  })
})

describe('several policies', () => {
  test('may not share a name, or both patterns', () => {
    const specs = [
      { name: 'a', client: 'acme', rules: '1/s' },
      { name: 'a', client: 'bolt', rules: '1/s' },
      { name: 'b', client: 'acme', route: '*', rules: '1/s' },
    ]
    expect(() => readPolicies(specs, 'file', 'policies')).toThrow(
      expect.objectContaining({
        problems: [
          { at: 'policies[1]', message: 'policies[1] has the name of policies[0]' },
          { at: 'policies[2]', message: 'policies[2] has the client and route of policies[0]' },
        ],
      }),
    )
  })

  test('are named by their position in problems', () => {
    const specs = [
      { name: 'a', client: 'acme', rules: '1/s' },
      { name: 'b', client: 'b', rules: { algorithm: 'gcra' } },
    ]
    expect(() => readPolicies(specs, 'file', 'policies')).toThrow(/policies\[1\]\.rules\.limit is missing/)
  })
})

test('the built-in default is 100 a minute for each client and route, with anchor clock', () => {
  const clock = fakeClock(60_000 * 1000 + 59_000)
  const limiter = createLimiter({ rules: builtInDefault.rules, store: memoryStore({ clock }) })
  for (let i = 0; i < 100; i++) expect(limiter.hit('k').allowed).toBe(true)
  expect(limiter.hit('k')).toMatchObject({ allowed: false, retryAfterMs: 1000 })
  expect(builtInDefault).toMatchObject({
    name: 'default',
    client: '*',
    route: '*',
    mode: 'enforce',
    scope: 'route',
    source: 'built-in',
  })
})
