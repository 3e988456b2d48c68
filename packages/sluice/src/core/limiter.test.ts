import { describe, expect, expectTypeOf, test } from 'vitest'
import { parseRule } from '../algorithms/parse-rule.ts'
import {
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  memoryStore,
  SluiceError,
  type Store,
  slidingWindow,
  tokenBucket,
  waitingLine,
} from '../index.ts'
import { fakeClock } from '../testing/index.ts'

const daily = fixedWindow({ limit: 100, window: '1d', name: 'daily' })
const burst = tokenBucket({ capacity: 5, refill: 1, every: '1s', name: 'burst' })

function twoRules() {
  const clock = fakeClock()
  return { clock, limiter: createLimiter({ rules: [burst, daily], store: memoryStore({ clock }) }) }
}

describe('a decision over several rules', () => {
  test('comes from the rule with the fewest units left while all allow', () => {
    const { clock, limiter } = twoRules()
    expect(limiter.hit('ada')).toMatchObject({ allowed: true, rule: 'burst', limit: 5, remaining: 4 })
    limiter.set('ada', 98, { rule: 'daily' })
    clock.advance(5000)
    expect(limiter.hit('ada')).toMatchObject({ allowed: true, rule: 'daily', limit: 100, remaining: 1 })
  })

  test('comes from the rule with the longest wait when some deny', () => {
    const { limiter } = twoRules()
    limiter.hit('ada', { cost: 5 })
    expect(limiter.hit('ada')).toMatchObject({ allowed: false, rule: 'burst', retryAfterMs: 1000 })
    limiter.set('ada', 100, { rule: 'daily' })
    expect(limiter.hit('ada')).toMatchObject({ allowed: false, rule: 'daily', retryAfterMs: 86_400_000 })
    expect(limiter.hit('ada', { cost: 6 })).toMatchObject({ rule: 'burst', retryAfterMs: Number.POSITIVE_INFINITY })
  })

  test("has each rule's own figures, in the limiter's order", () => {
    const { limiter } = twoRules()
    expect(limiter.hit('ada', { cost: 2 }).rules).toEqual([
      { name: 'burst', limit: 5, remaining: 3, retryAfterMs: 0, resetAfterMs: 2000 },
      { name: 'daily', limit: 100, remaining: 98, retryAfterMs: 0, resetAfterMs: 86_400_000 },
    ])
  })

  test('a rule that counts denied hits counts those that another rule denied', () => {
    const strict = fixedWindow({ limit: 10, window: '1m', countDenied: true, name: 'strict' })
    const limiter = createLimiter({ rules: [burst, strict] })
    for (let i = 0; i < 8; i++) limiter.hit('ada')
    expect(limiter.get('ada')).toBe(5)
    expect(limiter.get('ada', { rule: 'strict' })).toBe(8)
  })

  test('has the exact wait, also where a denied hit filled another rule', () => {
    const clock = fakeClock()
    const rules = [parseRule('sliding-log 1/second'), fixedWindow({ limit: 2, window: '10s', countDenied: true })]
    const limiter = createLimiter({ rules, store: memoryStore({ clock }) })
    limiter.hit('ada')
    const { allowed, retryAfterMs } = limiter.hit('ada')
    expect([allowed, retryAfterMs]).toEqual([false, 10_000])
    clock.advance(9999)
    expect(limiter.peek('ada').allowed).toBe(false)
    clock.advance(1)
    expect(limiter.hit('ada').allowed).toBe(true)
  })

  test('is complete as JSON', () => {
    const decision = twoRules().limiter.hit('ada')
    expect(JSON.parse(JSON.stringify(decision))).toMatchObject({
      allowed: true,
      source: 'store',
      rules: [{ name: 'burst' }, { name: 'daily' }],
    })
    expect(JSON.parse(JSON.stringify(createLimiter({ rules: daily }).hit('ada')))).toMatchObject({
      rules: [{ name: 'daily', remaining: 99 }],
    })
  })
})

describe('methods on one rule', () => {
  test('use the first rule, or the one that is named', () => {
    const { limiter } = twoRules()
    limiter.inc('ada', 3)
    expect(limiter.get('ada')).toBe(3)
    expect(limiter.get('ada', { rule: 'daily' })).toBe(0)
    expect(limiter.inc('ada', 7, { rule: 'daily' })).toBe(7)
    expect(limiter.set('ada', 9, { rule: 'daily' })).toBe(9)
    expect(limiter.expiresAt('ada')).toBeLessThan(limiter.expiresAt('ada', { rule: 'daily' }))
  })

  test('inc may go past the limit, and the wait says how far', () => {
    const { limiter } = twoRules()
    expect(limiter.inc('ada', 8)).toBe(8)
    expect(limiter.hit('ada')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 4000 })
  })

  test('refund gives back on every rule, never above full', () => {
    const { limiter } = twoRules()
    limiter.hit('ada', { cost: 4 })
    expect(limiter.refund('ada', 3)).toBe(1)
    expect(limiter.get('ada', { rule: 'daily' })).toBe(1)
    expect(limiter.refund('ada', 50)).toBe(0)
    expect(limiter.peek('ada', { cost: 6 }).allowed).toBe(false)
  })

  test('refund gives back on one rule, if it is named', () => {
    const { limiter } = twoRules()
    limiter.hit('ada', { cost: 4 })
    expect(limiter.refund('ada', 3, { rule: 'daily' })).toBe(1)
    expect([limiter.get('ada'), limiter.get('ada', { rule: 'daily' })]).toEqual([4, 1])
  })

  test('a name that no rule has is refused, and the error lists the names', () => {
    const { limiter } = twoRules()
    expect(() => limiter.get('ada', { rule: 'monthly' })).toThrow('no rule is called "monthly": there is "burst", "daily"')
  })
})

describe('bad input fails at once and writes nothing', () => {
  const store = memoryStore()
  const limiter = createLimiter({ rules: [burst, daily], store })
  const cases: readonly (readonly [string, string, () => unknown])[] = [
    ['a cost of NaN', 'ERR_COST', () => limiter.hit('k', { cost: Number.NaN })],
    ['a cost of 2^53', 'ERR_COST', () => limiter.inc('k', 2 ** 53)],
    ['a cost of 0, but for peek', 'ERR_COST', () => limiter.hit('k', { cost: 0 })],
    ['a negative refund', 'ERR_COST', () => limiter.refund('k', -1)],
    ['a count below 0', 'ERR_COST', () => limiter.set('k', -1)],
    ['a count of a half', 'ERR_COST', () => limiter.set('k', 0.5)],
    ['an empty key', 'ERR_KEY', () => limiter.hit('')],
    ['a number for a key', 'ERR_KEY', () => limiter.hit(42 as unknown as string)],
    ['no key', 'ERR_KEY', () => limiter.reset(undefined as unknown as string)],
    ['an unknown option', 'ERR_OPTION', () => limiter.hit('k', { cots: 2 } as object)],
    ['options that are none', 'ERR_OPTION', () => limiter.hit('k', 2 as never)],
    ['an unknown rule', 'ERR_RULE_NAME', () => limiter.set('k', 1, { rule: 'x' })],
    ['an unknown option of refund', 'ERR_OPTION', () => limiter.refund('k', 1, { rul: 'x' } as object)],
  ]
  for (const [what, code, call] of cases) {
    test(what, () => {
      expect(call).toThrow(SluiceError)
      expect(call).toThrow(expect.objectContaining({ code, transient: false }))
      expect(store.size).toBe(0)
    })
  }

  test('the message names the value, and the options that there are', () => {
    expect(() => limiter.hit('k', { cost: 0.5 })).toThrow('cost must be a whole number of at least 1 and below 2^53, got 0.5')
    expect(() => limiter.hit('k', { cots: 2 } as object)).toThrow('hit has no option "cots": there is cost')
  })
})

describe('misconfiguration throws when the limiter is made', () => {
  const cases: readonly (readonly [string, string, () => unknown])[] = [
    ['no rules', 'ERR_OPTION', () => createLimiter({ rules: [] })],
    ['rules that are none', 'ERR_OPTION', () => createLimiter({ rules: [{ limit: 3 }] as never })],
    ['rules left out', 'ERR_OPTION', () => createLimiter({} as never)],
    ['two rules of one name', 'ERR_RULE_NAME', () => createLimiter({ rules: [parseRule('5/second'), parseRule('5/second')] })],
    ['a notation that cannot be read', 'ERR_NOTATION', () => createLimiter({ rules: parseRule('five a second') })],
    ['a limit of 0', 'ERR_RULE', () => fixedWindow({ limit: 0, window: '1s' })],
    ['a window of 0', 'ERR_DURATION', () => fixedWindow({ limit: 1, window: 0 })],
    ['a window in weeks', 'ERR_DURATION', () => fixedWindow({ limit: 1, window: '1w' as '1d' })],
    ['an unknown anchor', 'ERR_RULE', () => fixedWindow({ limit: 1, window: '1s', anchor: 'hit' as 'clock' })],
    ['an unknown option of a rule', 'ERR_OPTION', () => fixedWindow({ limit: 1, window: '1s', windows: 2 } as never)],
    ['an elastic window on the clock', 'ERR_RULE', () => fixedWindow({ limit: 1, window: '1s', elastic: true, anchor: 'clock' })],
    ['a name that is empty', 'ERR_RULE', () => fixedWindow({ limit: 1, window: '1s', name: '' })],
    ['a store that is none', 'ERR_OPTION', () => createLimiter({ rules: daily, store: {} as never })],
    ['an unknown option', 'ERR_OPTION', () => createLimiter({ rule: daily } as never)],
    ['a queue of no length', 'ERR_OPTION', () => waitingLine({ maxWaiting: 0 })],
    ['a clock that is none', 'ERR_OPTION', () => memoryStore({ clock: {} as never })],
  ]
  for (const [what, code, call] of cases) {
    test(what, () => expect(call).toThrow(expect.objectContaining({ code })))
  }
})

test('rules that differ in anything differ in their default names', () => {
  const rules = [
    fixedWindow({ limit: 5, window: '1s' }),
    fixedWindow({ limit: 5, window: '1s', anchor: 'clock' }),
    fixedWindow({ limit: 5, window: '1s', countDenied: true }),
    fixedWindow({ limit: 5, window: '1s', elastic: true }),
    slidingWindow({ limit: 5, window: '1s' }),
    slidingWindow({ limit: 5, window: '1s', anchor: 'clock' }),
    slidingWindow({ limit: 5, window: '1s', round: 'none' }),
    tokenBucket({ capacity: 5, refill: 5, every: '1s' }),
    tokenBucket({ capacity: 5, refill: 5, every: '1s', style: 'stepped' }),
  ]
  expect(new Set(rules.map(({ name }) => name)).size).toBe(rules.length)
})

test('a closed limiter refuses calls, and closes only a store of its own', () => {
  const store = memoryStore()
  const limiter = createLimiter({ rules: daily, store })
  limiter.close()
  expect(() => limiter.hit('ada')).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }))
  expect(createLimiter({ rules: daily, store }).hit('ada').allowed).toBe(true)
})

test('types: promises on an asynchronous store, values on a synchronous one', () => {
  expectTypeOf<ReturnType<Limiter<'async'>['hit']>>().toEqualTypeOf<Promise<Decision>>()
  expectTypeOf<ReturnType<Limiter<'sync'>['hit']>>().toEqualTypeOf<Decision>()
  const asynchronous = (store: Store<'async'>) => createLimiter({ rules: daily, store })
  expectTypeOf(asynchronous).returns.toEqualTypeOf<Limiter<'async'>>()
  expectTypeOf(createLimiter({ rules: daily })).toEqualTypeOf<Limiter<'sync'>>()
})
