import { describe, expect, test } from 'vitest'
import type { Call } from '../core/call.ts'
import {
  concurrency,
  createLimiter,
  fixedWindow,
  holds,
  memoryStore,
  SluiceError,
  slidingLog,
  tokenBucket,
  waitingLine,
} from '../index.ts'
import { definitionStore, failingStore, fakeClock } from '../testing/index.ts'

const MINUTE = 60_000

function budget(limit = 10) {
  const clock = fakeClock()
  const rules = fixedWindow({ limit, window: '1m', name: 'tokens' })
  return { clock, limiter: createLimiter({ rules, store: memoryStore({ clock }), holds: holds() }) }
}

function codeOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof SluiceError) return error.code
    throw error
  }
  return 'none'
}

describe('reserve', () => {
  test('held units count as used, and are free the moment they are settled for less', () => {
    const { limiter } = budget()
    const hold = limiter.reserve('ada', { hold: 8 })
    expect(hold).toMatchObject({ allowed: true, granted: { tokens: 8 } })
    expect(hold.decision.remaining).toBe(2)
    expect(limiter.get('ada')).toBe(8)
    expect(limiter.hit('ada', { cost: 3 }).allowed).toBe(false)
    hold.settle(5)
    expect(limiter.get('ada')).toBe(5)
    expect(limiter.hit('ada', { cost: 5 }).allowed).toBe(true)
  })

  test('a settle charges the window that is live now', () => {
    const { limiter, clock } = budget()
    limiter.hit('ada', { cost: 2 })
    const hold = limiter.reserve('ada', { hold: 8, ttl: '5m' })
    clock.advance(MINUTE + 1)
    expect(limiter.get('ada')).toBe(8)
    hold.settle(3)
    expect(limiter.get('ada')).toBe(3)
  })

  test('a settle above the hold is charged past the limit', () => {
    const { limiter } = budget()
    limiter.reserve('ada', { hold: 8 }).settle(15)
    expect(limiter.get('ada')).toBe(15)
    expect(limiter.hit('ada').allowed).toBe(false)
  })

  test('a settle of 0 and a cancel charge nothing', () => {
    const { limiter } = budget()
    limiter.reserve('ada', { hold: 8 }).settle(0)
    limiter.reserve('ada', { hold: 10 }).cancel()
    expect(limiter.get('ada')).toBe(0)
  })

  test('a hold that expires is charged in full at its end, or released', () => {
    for (const [expired, used] of [
      ['charge', 4],
      ['release', 0],
    ] as const) {
      const { limiter, clock } = budget()
      const hold = limiter.reserve('ada', { hold: 4, ttl: '10s', expired })
      clock.advance(10_000)
      expect(limiter.get('ada')).toBe(used)
      expect(codeOf(() => hold.settle())).toBe('ERR_HOLD')
      expect(limiter.get('ada')).toBe(used)
    }
  })

  test('an extended hold expires later', () => {
    const { limiter, clock } = budget()
    const hold = limiter.reserve('ada', { hold: 4, ttl: '10s', expired: 'release' })
    clock.advance(9_000)
    hold.extend('10s')
    expect(hold.expiresAt).toBe(clock.now() + 10_000)
    clock.advance(9_999)
    expect(limiter.get('ada')).toBe(4)
    clock.advance(1)
    expect(limiter.get('ada')).toBe(0)
  })

  test('a hold ends once', () => {
    const { limiter } = budget()
    const hold = limiter.reserve('ada', { hold: 4 })
    hold.settle(1)
    for (const end of [() => hold.settle(), () => hold.cancel(), () => hold.extend('1m')]) expect(codeOf(end)).toBe('ERR_HOLD')
    expect(limiter.get('ada')).toBe(1)
  })

  test('a settle with a wrong amount changes nothing, and the hold stays open', () => {
    const { limiter } = budget()
    const hold = limiter.reserve('ada', { hold: 4 })
    for (const wrong of [-1, 1.5, Number.NaN, '3', { tokens: -1 }, { other: 1 }]) {
      expect(
        codeOf(() => hold.settle(wrong as number)),
        String(wrong),
      ).toMatch(/ERR_COST|ERR_RULE/)
    }
    hold.settle(2)
    expect(limiter.get('ada')).toBe(2)
  })

  test('a denied reserve holds nothing, and there is nothing to end', () => {
    const { limiter } = budget()
    const hold = limiter.reserve('ada', { hold: 11 })
    expect(hold).toMatchObject({ allowed: false, granted: {}, expiresAt: 0, token: '' })
    expect(hold.decision.retryAfterMs).toBe(Number.POSITIVE_INFINITY)
    expect(codeOf(() => hold.settle())).toBe('ERR_HOLD')
    expect(limiter.get('ada')).toBe(0)
  })

  test('atLeast takes what is left', () => {
    const { limiter } = budget()
    limiter.hit('ada', { cost: 7 })
    expect(limiter.reserve('ada', { hold: 8, atLeast: 4 }).allowed).toBe(false)
    expect(limiter.reserve('ada', { hold: 8, atLeast: 2 })).toMatchObject({ allowed: true, granted: { tokens: 3 } })
    expect(limiter.get('ada')).toBe(10)
  })

  test('one decision counts a request, holds tokens and money, and takes a place', () => {
    const clock = fakeClock()
    const rules = [
      fixedWindow({ limit: 60, window: '1m', name: 'requests', per: 'user' }),
      tokenBucket({ capacity: 40_000, refill: 40_000, every: '1m', name: 'tokens', per: 'org' }),
      fixedWindow({ limit: 1_000_000, window: '1d', name: 'money', per: 'org' }),
      concurrency({ limit: 2, ttl: '30s', name: 'places', per: 'user' }),
    ]
    const limiter = createLimiter({ rules, store: memoryStore({ clock }), holds: holds() })
    const ada = { user: 'ada', org: 'acme' }
    const reserve = () => limiter.reserve(ada, { hold: { tokens: 4_000, money: 12_000 } })
    const first = reserve()
    expect(first.granted).toEqual({ tokens: 4_000, money: 12_000, places: 1 })
    expect(reserve().allowed).toBe(true)
    const third = reserve()
    expect([third.allowed, third.decision.rule, third.decision.retryAfterMs]).toEqual([false, 'places', 30_000])
    expect(limiter.get(ada, { rule: 'requests' })).toBe(2)
    expect(limiter.get(ada, { rule: 'tokens' })).toBe(8_000)
    first.settle({ tokens: 812, money: 2_436 })
    expect(limiter.get(ada, { rule: 'tokens' })).toBe(4_812)
    expect(limiter.get(ada, { rule: 'money' })).toBe(14_436)
    expect(limiter.get(ada, { rule: 'places' })).toBe(1)
    expect(reserve().allowed).toBe(true)
  })

  test('a number holds every rule that cost does not name', () => {
    const rules = [
      fixedWindow({ limit: 10, window: '1m', name: 'requests' }),
      fixedWindow({ limit: 100, window: '1m', name: 'tokens' }),
    ]
    const limiter = createLimiter({ rules, store: memoryStore({ clock: fakeClock() }), holds: holds() })
    const hold = limiter.reserve('ada', { hold: 5, cost: { requests: 2 } })
    expect(hold.granted).toEqual({ tokens: 5 })
    hold.cancel()
    expect([limiter.get('ada', { rule: 'requests' }), limiter.get('ada', { rule: 'tokens' })]).toEqual([2, 0])
  })

  test('open holds of a key are bounded, and the call that passes the bound changes nothing', () => {
    const clock = fakeClock()
    const rules = slidingLog({ limit: 100, window: '1m' })
    const limiter = createLimiter({ rules, store: memoryStore({ clock }), holds: holds({ most: 3 }) })
    const open = [1, 2, 3].map(() => limiter.reserve('ada', { hold: 1 }))
    expect(codeOf(() => limiter.reserve('ada', { hold: 1 }))).toBe('ERR_HOLDS')
    expect(limiter.get('ada')).toBe(3)
    open[0].cancel()
    expect(limiter.reserve('ada', { hold: 1 }).allowed).toBe(true)
  })

  test('bad options fail and write nothing', () => {
    const { limiter } = budget()
    const bad: object[] = [
      { hold: 0 },
      { hold: -1 },
      { hold: 1.5 },
      { hold: '3' },
      { hold: { other: 1 } },
      { hold: { tokens: 0 } },
      { hold: 1, ttl: 0 },
      { hold: 1, ttl: 'soon' },
      { hold: 1, ttl: '8d' },
      { hold: 1, expired: 'lost' },
      { hold: 1, atLeast: -1 },
      { hold: 1, until: 3 },
      { hold: 1, maxWaitMs: 5 },
    ]
    for (const options of bad)
      expect(
        codeOf(() => limiter.reserve('ada', options)),
        JSON.stringify(options),
      ).toMatch(/^ERR_/)
    expect(limiter.get('ada')).toBe(0)
  })

  test('a limiter without holds refuses to reserve', () => {
    const limiter = createLimiter({ rules: fixedWindow({ limit: 1, window: '1s' }) })
    expect(codeOf(() => limiter.reserve('ada', { hold: 1 }))).toBe('ERR_OPTION')
    expect(codeOf(() => createLimiter({ rules: concurrency({ limit: 1, ttl: '1s' }) }))).toBe('ERR_OPTION')
  })
})

test('a rule may have the name of a property that every object has', () => {
  const rules = fixedWindow({ limit: 10, window: '1m', name: '__proto__' })
  const limiter = createLimiter({ rules, store: memoryStore({ clock: fakeClock() }), holds: holds() })
  expect(Object.entries(limiter.reserve('ada', { hold: 4 }).granted)).toEqual([['__proto__', 4]])
})

describe('concurrency', () => {
  const places = () => {
    const clock = fakeClock()
    const rules = concurrency({ limit: 2, ttl: '30s' })
    return { clock, limiter: createLimiter({ rules, store: memoryStore({ clock }), holds: holds() }) }
  }

  test('at most limit at once; the place of a crashed holder is free at its ttl', () => {
    const { clock, limiter } = places()
    limiter.reserve('k')
    clock.advance(1_000)
    const second = limiter.reserve('k')
    const denied = limiter.reserve('k')
    expect(denied.decision).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 29_000, resetAfterMs: 30_000 })
    clock.advance(28_999)
    expect(limiter.reserve('k').allowed).toBe(false)
    clock.advance(1)
    expect(limiter.reserve('k').allowed).toBe(true)
    second.settle()
    expect(limiter.get('k')).toBe(1)
  })

  test('a hit is refused, because nobody could give its place back', () => {
    const { limiter } = places()
    for (const call of [() => limiter.hit('k'), () => limiter.inc('k'), () => limiter.set('k', 1)])
      expect(codeOf(call)).toBe('ERR_OPTION')
    expect(limiter.peek('k')).toMatchObject({ allowed: true, remaining: 2 })
  })

  test('a key without holders keeps no row', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock })
    const limiter = createLimiter({ rules: concurrency({ limit: 2, ttl: '30s' }), store, holds: holds() })
    for (let i = 0; i < 100; i++) limiter.reserve(`k${i}`).cancel()
    clock.advance(30_000)
    store.clean()
    expect(store.size).toBe(0)
  })
})

describe('run', () => {
  test('settles in full what the work did not settle, and returns its value', async () => {
    const { limiter } = budget()
    expect(await limiter.run('ada', { hold: 4 }, async () => 'done')).toMatchObject({ allowed: true, value: 'done' })
    expect(limiter.get('ada')).toBe(4)
    await limiter.run('ada', { hold: 4 }, (hold) => hold.settle(1))
    expect(limiter.get('ada')).toBe(5)
  })

  test('cancels if the work throws', async () => {
    const { limiter } = budget()
    const failed = limiter.run('ada', { hold: 4 }, () => {
      throw new Error('boom')
    })
    await expect(failed).rejects.toThrow('boom')
    expect(limiter.get('ada')).toBe(0)
  })

  test('does not call the work if the reserve is denied', async () => {
    const { limiter } = budget()
    let calls = 0
    const result = await limiter.run('ada', { hold: 11 }, () => {
      calls += 1
    })
    expect([result.allowed, calls]).toEqual([false, 0])
  })

  test('returns the value of work that took longer than its hold', async () => {
    const { limiter, clock } = budget()
    const result = await limiter.run('ada', { hold: 4, ttl: '1s' }, () => {
      clock.advance(2_000)
      return 7
    })
    expect(result.value).toBe(7)
    expect(limiter.get('ada')).toBe(4)
  })
})

describe('waiting', () => {
  const lined = (rules = concurrency({ limit: 1, ttl: '30s' })) => {
    const clock = fakeClock()
    const limiter = createLimiter({ rules, store: memoryStore({ clock }), holds: holds(), waiting: waitingLine() })
    return { clock, limiter }
  }
  const turns = async () => {
    for (let i = 0; i < 5; i++) await new Promise(setImmediate)
  }

  test('a reserve waits its turn, and wakes when a hold of the key ends', async () => {
    const { limiter } = lined()
    const first = limiter.reserve('k')
    const served: number[] = []
    const waits = [1, 2].map((n) => limiter.reserve('k', { maxWaitMs: 5_000 }).then((hold) => [served.push(n), hold] as const))
    await turns()
    expect(served).toEqual([])
    first.cancel()
    await turns()
    expect(served).toEqual([1])
    const [, second] = await waits[0]
    second.settle()
    await turns()
    expect(served).toEqual([1, 2])
  })

  test('it asks again at a bounded rate, because another process may have ended a hold', async () => {
    const clock = fakeClock()
    const store = definitionStore(clock)
    const here = createLimiter({ rules: concurrency({ limit: 1, ttl: '30s' }), store, holds: holds(), waiting: waitingLine() })
    const there = createLimiter({ rules: concurrency({ limit: 1, ttl: '30s' }), store, holds: holds() })
    const first = there.reserve('k')
    let got = false
    const waits = here.reserve('k', { maxWaitMs: 5_000 }).then(() => {
      got = true
    })
    await turns()
    first.cancel()
    for (let i = 0; i < 3 && !got; i++) {
      clock.advance(100)
      await turns()
    }
    await waits
    expect(got).toBe(true)
  })

  test('it gives up after maxWaitMs, and not before, although the lease ends much later', async () => {
    const { limiter, clock } = lined()
    limiter.reserve('k')
    let code: unknown
    limiter.reserve('k', { maxWaitMs: 1_000 }).catch((error) => {
      code = error.code
    })
    clock.advance(999)
    await turns()
    expect(code).toBeUndefined()
    clock.advance(1)
    await turns()
    expect(code).toBe('ERR_WAIT_TIMEOUT')
  })

  test('a signal ends the wait', async () => {
    const { limiter } = lined()
    limiter.reserve('k')
    const controller = new AbortController()
    const waits = limiter.reserve('k', { signal: controller.signal })
    controller.abort(new Error('gone'))
    await expect(waits).rejects.toThrow('gone')
  })

  test('more places than there are never come, and the wait says so at once', async () => {
    const { limiter } = lined()
    await expect(limiter.reserve('k', { hold: 2, maxWaitMs: 1_000 })).rejects.toMatchObject({ code: 'ERR_WAIT_NEVER' })
  })
})

describe('the token of a hold', () => {
  test('another limiter on the same store ends the hold, once', () => {
    const clock = fakeClock()
    const store = memoryStore({ clock })
    const rules = [
      fixedWindow({ limit: 60, window: '1m', name: 'requests' }),
      fixedWindow({ limit: 100, window: '1m', name: 'tokens' }),
    ]
    const here = createLimiter({ rules, store, holds: holds() })
    const there = createLimiter({ rules: [...rules].reverse(), store, holds: holds() })
    const hold = here.reserve('ada', { hold: { tokens: 40 } })
    const opened = there.openHold(hold.token)
    expect(opened).toMatchObject({ granted: { tokens: 40 }, expiresAt: hold.expiresAt })
    opened.settle({ tokens: 7 })
    expect(here.get('ada', { rule: 'tokens' })).toBe(7)
    expect(codeOf(() => hold.settle())).toBe('ERR_HOLD')
    expect(codeOf(() => there.openHold(hold.token).cancel())).toBe('ERR_HOLD')
    expect(here.get('ada', { rule: 'tokens' })).toBe(7)
  })

  test('a limiter with its rules in another order charges each rule its own units', () => {
    const store = memoryStore({ clock: fakeClock() })
    const rules = ['a', 'b'].map((name) => fixedWindow({ limit: 100, window: '1m', name }))
    const here = createLimiter({ rules, store, holds: holds() })
    const there = createLimiter({ rules: [...rules].reverse(), store, holds: holds() })
    const { token } = here.reserve('ada', { hold: { a: 10, b: 20 } })
    there.openHold(token).settle({ a: 1, b: 2 })
    expect([here.get('ada', { rule: 'a' }), here.get('ada', { rule: 'b' })]).toEqual([1, 2])
  })

  test('a limiter that lacks a held rule charges the others, also if the missing one is named', () => {
    const store = memoryStore({ clock: fakeClock() })
    const rules = ['a', 'b'].map((name) => fixedWindow({ limit: 100, window: '1m', name }))
    const here = createLimiter({ rules, store, holds: holds() })
    const there = createLimiter({ rules: rules[0], store, holds: holds() })
    const used = () => here.get('ada', { rule: 'a' })
    const { token } = here.reserve('ada', { hold: { a: 10, b: 20 } })
    expect(codeOf(() => there.openHold(token).settle({ a: 1, c: 2 }))).toBe('ERR_RULE_NAME')
    there.openHold(token).settle({ a: 1, b: 2 })
    expect(used()).toBe(1)
    there.openHold(here.reserve('ada', { hold: { a: 10, b: 20 } }).token).settle({ b: 2 })
    expect(used()).toBe(11)
  })

  test('a settle with an object that is not plain is refused, and the hold stays open', () => {
    const { limiter } = budget()
    const [name] = limiter.rules.map((rule) => rule.name)
    const { token } = limiter.reserve('ada', { hold: 4 })
    for (const used of [new Map([[name, 1]]), Promise.resolve(1), Object.create({ [name]: 1 })])
      expect(codeOf(() => limiter.openHold(token).settle(used as never))).toBe('ERR_COST')
    limiter.openHold(token).settle({ [name]: 1 })
  })

  test('a text that names a rule twice is refused, and ends nothing', () => {
    const { limiter } = budget()
    const [version, id, expiresAt, [charge]] = JSON.parse(limiter.reserve('ada', { hold: 4 }).token)
    const twice = JSON.stringify([version, id, expiresAt, [charge, charge]])
    expect(codeOf(() => limiter.openHold(twice).settle())).toBe('ERR_HOLD')
    expect(limiter.get('ada')).toBe(4)
  })

  test('a text that is no token is refused', () => {
    const { limiter } = budget()
    const { token } = limiter.reserve('ada', { hold: 4 })
    const texts: unknown[] = [
      '',
      '{}',
      '[]',
      'null',
      '[1,2,3,[["tokens","ada",0]]]',
      '[1,2,3,[["other","ada",1]]]',
      '[1,2,3,[["tokens","ada",1],["tokens","ada",1]]]',
      '[1,2,3,[["tokens","",1]]]',
      5,
      undefined,
    ]
    for (let i = 0; i < token.length; i++) texts.push(token.slice(0, i))
    for (const text of texts)
      expect(
        codeOf(() => limiter.openHold(text as string)),
        String(text),
      ).toBe('ERR_HOLD')
  })
})

describe('a token that was made up', () => {
  // A token is not signed, and the stores count on it that a call asks each state once.
  test.each([
    ['twice', 2],
    ['a hundred times', 100],
  ])('and names a rule %s is refused, and changes nothing', (_, times) => {
    const { limiter } = budget(100)
    const others = [1, 2].map(() => limiter.reserve('ada', { hold: 10 }))
    const hold = limiter.reserve('ada', { hold: 10 })
    const [version, id, expiresAt, [charge]] = JSON.parse(hold.token)
    const token = JSON.stringify([version, id, expiresAt, new Array(times).fill(charge)])
    expect(codeOf(() => limiter.openHold(token))).toBe('ERR_HOLD')
    expect(limiter.get('ada')).toBe(30)
    for (const open of [hold, ...others]) open.cancel()
    expect(limiter.get('ada')).toBe(0)
  })
})

describe('a store that fails', () => {
  const failing = (then: 'allow' | 'deny' | 'throw' | 'local') => {
    const clock = fakeClock()
    const store = failingStore(clock)
    store.plan = 'lose-call'
    const rules = fixedWindow({ limit: 10, window: '1m', name: 'tokens' })
    return { store, limiter: createLimiter({ rules, store, holds: holds(), failure: { then } }) }
  }

  test('allow grants everything, and there is nothing to end; deny holds nothing', async () => {
    const { limiter } = failing('allow')
    const hold = await limiter.reserve('ada', { hold: 4 })
    expect(hold).toMatchObject({ allowed: true, granted: { tokens: 4 }, token: '' })
    expect(hold.decision.source).toBe('fallback')
    await hold.settle(3)
    expect((await failing('deny').limiter.reserve('ada', { hold: 4 })).allowed).toBe(false)
  })

  test('local holds units in the stand-in', async () => {
    const { limiter } = failing('local')
    const hold = await limiter.reserve('ada', { hold: 8 })
    expect((await limiter.hit('ada', { cost: 3 })).allowed).toBe(false)
    await hold.settle(1)
    expect((await limiter.hit('ada', { cost: 9 })).allowed).toBe(true)
  })

  test('a settle that the store has refused can be repeated; one whose outcome is unknown cannot', async () => {
    const store = failingStore(fakeClock())
    // A refused call is sent again after 10 ms at the earliest, which is after this deadline.
    const failure = { timeoutMs: 5 }
    const limiter = createLimiter({ rules: fixedWindow({ limit: 10, window: '1m' }), store, holds: holds(), failure })
    store.plan = 'answer'
    const hold = await limiter.reserve('ada', { hold: 8 })
    store.plan = 'refuse'
    await expect(hold.settle(3)).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    await hold[Symbol.asyncDispose]()
    store.plan = 'lose-answer'
    await expect(hold.settle(3)).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
    store.plan = 'answer'
    expect(codeOf(() => hold.settle(3))).toBe('ERR_HOLD')
    expect(await limiter.get('ada')).toBe(3)
  })

  test('a settle that fails in a synchronous store is not followed by a cancel', async () => {
    const store = definitionStore(fakeClock())
    const rules = fixedWindow({ limit: 10, window: '1m' })
    const limiter = createLimiter({
      rules,
      holds: holds(),
      store: { ...store, size: 0, tally: (list) => ({ ask: (call) => failedOnce(call) ?? store.tally(list).ask(call) }) },
    })
    let failures = 0
    const failedOnce = ({ operation }: Call): undefined => {
      if (operation === 'settle' && failures++ === 0) throw new SluiceError('ERR_STORE_UNKNOWN', 'the answer was lost')
    }
    const run = limiter.run('ada', { hold: 5 }, (hold) => hold.settle(5))
    await expect(run).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
    expect([failures, limiter.get('ada')]).toEqual([1, 5])
  })
})

test('await using cancels a hold that was not settled', async () => {
  const { limiter } = budget()
  {
    await using hold = limiter.reserve('ada', { hold: 4 })
    expect([hold.allowed, limiter.get('ada')]).toEqual([true, 4])
  }
  expect(limiter.get('ada')).toBe(0)
})
