import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test, vi } from 'vitest'
import { systemClock } from '../engines/system-clock.ts'
import {
  createLimiter,
  type Decision,
  type FailureEvent,
  type FailureOptions,
  parseRule,
  SluiceError,
  waitingLine,
} from '../index.ts'
import { type CallPlan, failingStore, fakeClock } from '../testing/index.ts'

function limiterOn(failure: FailureOptions, rules = '5/minute', partOf?: (key: string) => string) {
  const fake = fakeClock()
  /** Timers that have been set, and neither fired nor been cancelled. */
  const timers = new Set<() => void>()
  const clock = {
    ...fake,
    after(delayMs: number, callback: () => void) {
      const cancel = fake.after(delayMs, () => {
        timers.delete(stop)
        callback()
      })
      const stop = () => {
        timers.delete(stop)
        cancel()
      }
      timers.add(stop)
      return stop
    },
  }
  const store = failingStore(clock, partOf && { partOf })
  const limiter = createLimiter({ rules: parseRule(rules), store, failure, waiting: waitingLine() })
  const heard: string[] = []
  limiter.on('failure', ({ reason }) => heard.push(reason))
  limiter.on('recovered', () => heard.push('recovered'))
  const pass = async (ms: number) => {
    for (let i = 0; i < ms; i += 10) {
      await new Promise(setImmediate)
      clock.advance(Math.min(10, ms - i))
    }
    await new Promise(setImmediate)
  }
  /** Returns the answer. It must have settled after `ms`. */
  const inTime = async <T>(answer: Promise<T>, ms = 0): Promise<T> => {
    answer.catch(() => {})
    await pass(ms)
    return Promise.race([answer, Promise.reject(new Error(`not settled within ${ms} ms`))])
  }
  const fail = async (plan: CallPlan, times: number) => {
    store.plan = plan
    for (let i = 0; i < times; i++) await inTime(limiter.hit('ada'), 100).catch(() => {})
  }
  return { clock, limiter, store, timers, heard, pass, inTime, fail }
}

describe('a store that never answers', () => {
  test('fails the call at its deadline, and not before, without a fallback', async () => {
    const { limiter, store, pass, inTime } = limiterOn({ timeoutMs: 100 })
    store.plan = 'stall'
    const hit = limiter.hit('ada')
    hit.catch(() => {})
    await pass(99)
    expect(await Promise.race([hit, 'not settled'])).toBe('not settled')
    await expect(inTime(hit, 1)).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN', transient: true })
  })

  for (const [then, allowed] of [
    ['allow', true],
    ['deny', false],
    ['local', true],
  ] as const) {
    test(`then ${then}: the decision names its source`, async () => {
      const { limiter, store, inTime } = limiterOn({ timeoutMs: 100, then })
      store.plan = 'stall'
      const decision: Decision = await inTime(limiter.hit('ada'), 100)
      expect(decision).toMatchObject({ allowed, source: 'fallback' })
    })
  }

  test('then local: the same rules hold, in this process, over one rule and over several', async () => {
    for (const rules of ['5/minute', '5/minute; 100/hour']) {
      const { limiter, store, inTime } = limiterOn({ timeoutMs: 100, then: 'local' }, rules)
      store.plan = 'stall'
      const decisions = await inTime(Promise.all(Array.from({ length: 8 }, () => limiter.hit('ada'))), 100)
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5)
      expect(decisions.map(({ source }) => source)).toEqual(decisions.map(() => 'fallback'))
    }
  })

  test('then local: the stand-in keeps its count from one outage to the next', async () => {
    const { limiter, store, inTime, pass } = limiterOn({ timeoutMs: 100, then: 'local', probeEveryMs: 1000 })
    const allowedIn = async () => {
      store.plan = 'stall'
      const decisions = await inTime(Promise.all(Array.from({ length: 4 }, () => limiter.hit('ada'))), 100)
      return decisions.filter(({ allowed }) => allowed).length
    }
    expect(await allowedIn()).toBe(4)
    store.plan = 'answer'
    await pass(1000)
    expect(await inTime(limiter.hit('ada'))).toMatchObject({ source: 'store', remaining: 4 })
    expect(await allowedIn()).toBe(1)
  })

  test('then deny: the wait ends when the store may be asked again', async () => {
    const { limiter, store, inTime } = limiterOn({ timeoutMs: 100, then: 'deny', probeEveryMs: 700 }, '5/minute; 100/hour')
    store.plan = 'stall'
    const decision = await inTime(limiter.hit('ada'), 100)
    expect(decision).toMatchObject({ remaining: 0, retryAfterMs: 700 })
    expect(decision.rules.map(({ remaining }) => remaining)).toEqual([0, 0])
  })

  test('then deny: a waiting caller is served once the store is back', async () => {
    const { limiter, store, inTime, pass } = limiterOn({ timeoutMs: 100, then: 'deny', probeEveryMs: 500 })
    store.plan = 'stall'
    const turn = limiter.wait('ada')
    await pass(100)
    store.plan = 'answer'
    expect(await inTime(turn, 500)).toMatchObject({ allowed: true, source: 'store' })
  })

  test('an answer that comes too late changes nothing, and does not count as a recovery', async () => {
    const { limiter, store, heard, inTime } = limiterOn({ timeoutMs: 100, then: 'local' })
    store.plan = 'stall'
    expect(await inTime(limiter.hit('ada'), 100)).toMatchObject({ source: 'fallback' })
    store.release()
    await inTime(Promise.resolve())
    expect(heard).toEqual(['timeout'])
    expect(limiter.failures).toMatchObject({ timeout: 1, recovered: 0 })
  })
})

describe('a call that returns a number', () => {
  const ask = (limiter: ReturnType<typeof limiterOn>['limiter']): Promise<unknown>[] => [
    limiter.inc('ada', 2),
    limiter.get('ada'),
    limiter.set('ada', 3),
    limiter.expiresAt('ada'),
    limiter.refund('ada', 1),
    limiter.reset('ada'),
  ]

  for (const then of ['allow', 'deny', 'throw'] as const) {
    test(`then ${then}: fails, because there is no number to return`, async () => {
      const { limiter, store, inTime } = limiterOn({ timeoutMs: 100, then, failures: 100 })
      store.plan = 'stall'
      const answers = await inTime(Promise.allSettled(ask(limiter)), 100)
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 'rejected'))
    })
  }

  test('then local: returns the count of the stand-in', async () => {
    const { limiter, store, clock, inTime } = limiterOn({ timeoutMs: 100, then: 'local', failures: 100 })
    store.plan = 'stall'
    expect(await inTime(Promise.all(ask(limiter)), 100)).toEqual([2, 2, 3, clock.now() + 60_000, 2, undefined])
  })

  test('a reset reaches the stand-in also when the store answers', async () => {
    const { limiter, store, inTime, fail } = limiterOn({ timeoutMs: 100, then: 'local', failures: 100 })
    await fail('stall', 5)
    store.plan = 'answer'
    await inTime(limiter.reset('ada'))
    store.plan = 'stall'
    expect(await inTime(limiter.hit('ada'), 100)).toMatchObject({ allowed: true, remaining: 4 })
  })
})

describe('the breaker', () => {
  test('stops asking after a run of failures, so that an outage costs no waiting, and one call at a time finds out when it ends', async () => {
    const { limiter, store, heard, pass, inTime, fail } = limiterOn({
      timeoutMs: 100,
      then: 'allow',
      failures: 3,
      probeEveryMs: 1000,
    })
    await fail('stall', 3)
    expect(store.calls).toHaveLength(3)
    await inTime(limiter.hit('ada'))
    expect(store.calls).toHaveLength(3)
    await pass(1000)
    await inTime(Promise.all([limiter.hit('ada'), limiter.hit('ada')]), 100)
    expect(store.calls).toHaveLength(4)
    store.plan = 'answer'
    await pass(1000)
    expect(await inTime(limiter.hit('ada'))).toMatchObject({ source: 'store' })
    expect(heard).toEqual(['timeout', 'timeout', 'timeout', 'not-asked', 'not-asked', 'timeout', 'recovered'])
    expect(limiter.failures).toEqual({ timeout: 4, refused: 0, unknown: 0, fatal: 0, 'not-asked': 2, recovered: 1 })
  })

  test('then throw: a call fails with an error that says that the store was not asked', async () => {
    const { limiter, inTime, fail } = limiterOn({ timeoutMs: 100, failures: 2 })
    await fail('lose-call', 2)
    await expect(inTime(limiter.hit('ada'))).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED', transient: true })
  })

  test('every reason but fatal counts, in any mixture; an answer restarts the count', async () => {
    const { limiter, store, heard, inTime, fail } = limiterOn({ timeoutMs: 100, then: 'allow', failures: 4, probeEveryMs: 1000 })
    await fail('stall', 1)
    await fail('lose-call', 1)
    await fail('refuse', 1)
    await fail('answer', 1)
    await fail('stall', 1)
    await fail('refuse', 1)
    await fail('lose-call', 1)
    const asked = store.calls.length
    await fail('answer', 1)
    expect(store.calls).toHaveLength(asked + 1)
    await fail('lose-call', 4)
    store.plan = 'answer'
    expect(await inTime(limiter.hit('ada'))).toMatchObject({ source: 'fallback' })
    expect(heard).toEqual([
      ...['timeout', 'unknown', 'refused', 'recovered', 'timeout', 'refused', 'unknown', 'recovered'],
      ...['unknown', 'unknown', 'unknown', 'unknown', 'not-asked'],
    ])
  })

  test('fatal answers do not open it, and a fatal answer to a probe closes it: the store is reachable', async () => {
    const { limiter, store, heard, inTime, pass, fail } = limiterOn({ timeoutMs: 100, then: 'allow', failures: 2 })
    await fail('fatal', 5)
    expect(store.calls).toHaveLength(5)
    await fail('lose-call', 2)
    await pass(500)
    await fail('fatal', 1)
    store.plan = 'answer'
    expect(await inTime(limiter.hit('ada'))).toMatchObject({ source: 'store' })
    expect(heard.slice(5)).toEqual(['unknown', 'unknown', 'recovered', 'fatal'])
  })

  test('a probe that is refused is not tried again, and the next probe waits for the interval', async () => {
    const { limiter, store, inTime, pass, fail } = limiterOn({ timeoutMs: 100, then: 'allow', failures: 2, probeEveryMs: 300 })
    await fail('lose-call', 2)
    store.plan = 'refuse'
    await pass(300)
    expect(await inTime(limiter.hit('ada'))).toMatchObject({ source: 'fallback' })
    expect(store.calls).toHaveLength(3)
    await pass(290)
    await inTime(limiter.hit('ada'))
    expect(store.calls).toHaveLength(3)
    await pass(10)
    await inTime(limiter.hit('ada'))
    expect(store.calls).toHaveLength(4)
  })

  test('an error that is not the store’s does not leave it open for ever', async () => {
    const { limiter, store, inTime, pass, fail } = limiterOn({ timeoutMs: 100, then: 'allow', failures: 2 })
    await fail('lose-call', 2)
    await pass(500)
    store.plan = { fail: new SluiceError('ERR_CLOCK', 'no time') }
    await expect(inTime(limiter.hit('ada'))).rejects.toMatchObject({ code: 'ERR_CLOCK' })
    await pass(500)
    store.plan = 'answer'
    expect(await inTime(limiter.hit('ada'))).toMatchObject({ source: 'store' })
  })

  test('opens while calls wait to be tried again: they do not ask again', async () => {
    const { limiter, store, inTime } = limiterOn({ timeoutMs: 200, then: 'allow', failures: 2 })
    store.plan = 'refuse'
    const waiting = limiter.hit('ada')
    await inTime(Promise.resolve(), 40)
    store.plan = 'lose-call'
    await inTime(Promise.all([limiter.hit('bob'), limiter.hit('bob')]))
    const asked = store.calls.length
    expect(await inTime(waiting, 30)).toMatchObject({ source: 'fallback' })
    expect(store.calls).toHaveLength(asked)
    expect(limiter.failures).toMatchObject({ refused: 1, unknown: 2 })
  })
})

describe('errors', () => {
  test('certainly not executed: asked again after 10, 20, 40 ms and so on, as long as the deadline is not reached', async () => {
    const { limiter, store, clock, inTime } = limiterOn({ timeoutMs: 100 })
    store.plan = 'refuse'
    const startMs = clock.now()
    await expect(inTime(limiter.hit('ada'), 70)).rejects.toMatchObject({
      code: 'ERR_STORE_REFUSED',
      message: 'the store is busy',
    })
    expect(store.calls.map(({ atMs }) => atMs - startMs)).toEqual([0, 10, 30, 70])
    expect(limiter.failures).toMatchObject({ refused: 1, timeout: 0 })
  })

  test('certainly not executed, then done: counted once', async () => {
    const { limiter, store, pass, inTime } = limiterOn({ timeoutMs: 100 })
    store.plan = 'refuse'
    const hit = limiter.hit('ada')
    await pass(25)
    store.plan = 'answer'
    expect(await inTime(hit, 5)).toMatchObject({ allowed: true, source: 'store', remaining: 4 })
    expect(limiter.failures).toMatchObject({ refused: 0, recovered: 0 })
  })

  test('refused, asked again, and then no answer: the call may have been counted', async () => {
    const { limiter, store, pass, inTime } = limiterOn({ timeoutMs: 100 })
    store.plan = 'refuse'
    const hit = limiter.hit('ada')
    hit.catch(() => {})
    await pass(5)
    store.plan = 'stall'
    await expect(inTime(hit, 95)).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
    expect(limiter.failures).toMatchObject({ timeout: 1, refused: 0 })
  })

  test('refused so late that the deadline comes before the next try: refused, not timed out', async () => {
    const { limiter, store, clock, pass, inTime } = limiterOn({ timeoutMs: 100 })
    store.plan = 'refuse'
    const hit = limiter.hit('ada')
    hit.catch(() => {})
    // The clock jumps: the second try is made late, and so would the third be.
    await pass(0)
    clock.advance(75)
    await expect(inTime(hit, 25)).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
  })

  test('perhaps executed: never asked again', async () => {
    const { limiter, store, inTime } = limiterOn({ timeoutMs: 100 })
    store.plan = 'lose-call'
    await expect(inTime(limiter.hit('ada'), 100)).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
    expect(store.calls).toHaveLength(1)
  })

  test('fatal: fails at once', async () => {
    const { limiter, store, inTime } = limiterOn({ timeoutMs: 100 })
    store.plan = 'fatal'
    await expect(inTime(limiter.hit('ada'))).rejects.toMatchObject({ code: 'ERR_STORE_FATAL', transient: false })
  })

  test('that the store has not sorted, or has thrown, are unknown, with the original error as the cause', async () => {
    const cause = new TypeError('not a promise')
    for (const plan of [{ throw: cause }, { fail: cause }]) {
      const { limiter, store, inTime } = limiterOn({ timeoutMs: 100 })
      store.plan = plan
      const error = await inTime(limiter.hit('ada')).catch((thrown) => thrown)
      expect([error.code, error.cause]).toEqual(['ERR_STORE_UNKNOWN', cause])
    }
  })
})

describe('listeners', () => {
  test('are called for each failure with its error, until they are removed', async () => {
    const { limiter, fail } = limiterOn({ timeoutMs: 100, then: 'allow' })
    const heard: FailureEvent[] = []
    const stop = limiter.on('failure', (event) => heard.push(event))
    await fail('lose-call', 1)
    stop()
    await fail('lose-call', 1)
    expect(heard).toEqual([{ reason: 'unknown', error: expect.objectContaining({ message: 'the connection was lost' }) }])
  })

  test.each([
    ['at a deadline', 'stall', 'timeout'],
    ['after attempts in a line', 'refuse', 'refused'],
  ] as const)('run in the async context of the call that failed: %s', async (_, plan, reason) => {
    const { limiter, store, pass } = limiterOn({ timeoutMs: 100, then: 'deny' })
    const request = new AsyncLocalStorage<string>()
    const requests: string[] = []
    limiter.on('failure', (event) => requests.push(`${request.getStore()}: ${event.reason}`))
    store.plan = plan
    const names = ['first', 'second', 'third']
    const hits = names.map((name) => request.run(name, () => limiter.hit('ada')))
    await pass(100)
    await Promise.all(hits)
    expect(requests).toEqual(names.map((name) => `${name}: ${reason}`))
  })

  test('that throw disturb neither the call nor other listeners, and their error is not hidden', async () => {
    const later: (() => void)[] = []
    const spy = vi.spyOn(globalThis, 'queueMicrotask').mockImplementation((callback) => later.push(callback))
    try {
      const { limiter, store, heard, inTime } = limiterOn({ timeoutMs: 100, then: 'deny' })
      limiter.on('failure', () => {
        throw new Error('a bug in the listener')
      })
      const after: string[] = []
      limiter.on('failure', ({ reason }) => after.push(reason))
      store.plan = 'lose-call'
      expect(await inTime(limiter.hit('ada'))).toMatchObject({ allowed: false, source: 'fallback' })
      expect([heard, after]).toEqual([['unknown'], ['unknown']])
      expect(later).toHaveLength(1)
      expect(later[0]).toThrow('a bug in the listener')
    } finally {
      spy.mockRestore()
    }
  })
})

test('counters that were read do not change afterwards', async () => {
  const { limiter, fail } = limiterOn({ timeoutMs: 100, then: 'allow' })
  const before = limiter.failures
  await fail('lose-call', 1)
  expect([before.unknown, limiter.failures.unknown]).toEqual([0, 1])
})

describe('timers', () => {
  test('are held only while calls are under way, so that a program can end', async () => {
    const { limiter, store, timers, inTime, pass } = limiterOn({ timeoutMs: 100, then: 'allow', failures: 10 })
    for (const plan of ['answer', 'lose-call', 'refuse', 'stall', 'fatal'] as const) {
      store.plan = plan
      const hit = inTime(limiter.hit('ada'), 100)
      expect(timers.size).toBe(1)
      await hit
      expect(timers.size).toBe(0)
    }
    await pass(1000)
    expect(timers.size).toBe(0)
  })

  test('hold the deadline of each call, also when the clock steps, back or ahead', async () => {
    for (const stepMs of [-3_600_000, -50, 50, 3_600_000]) {
      const { limiter, store, clock, pass, inTime } = limiterOn({ timeoutMs: 100, then: 'allow', failures: 100 })
      store.plan = 'stall'
      const first = limiter.hit('ada')
      await pass(60)
      clock.set(clock.now() + stepMs)
      const second = limiter.hit('ada')
      expect(await inTime(first, 40)).toMatchObject({ source: 'fallback' })
      await pass(50)
      expect(await Promise.race([second, 'not settled'])).toBe('not settled')
      expect(await inTime(second, 10)).toMatchObject({ source: 'fallback' })
    }
  })
})

test('a part of the store that is down does not affect the others', async () => {
  const { limiter, store, pass, inTime, fail } = limiterOn(
    { timeoutMs: 100, then: 'allow', failures: 2 },
    '5/minute',
    (key) => key,
  )
  await fail('lose-call', 2)
  const asked = store.calls.length
  store.plan = 'answer'
  expect(await inTime(limiter.hit('ada'))).toMatchObject({ source: 'fallback' })
  expect(await inTime(limiter.hit('bob'))).toMatchObject({ source: 'store' })
  expect(store.calls).toHaveLength(asked + 1)
  expect(limiter.failures).toMatchObject({ recovered: 0 })
  await pass(500)
  expect(await inTime(limiter.hit('ada'))).toMatchObject({ source: 'store' })
  expect(limiter.failures).toMatchObject({ recovered: 1 })
})

test('one key that never answers opens the breaker for others for one interval at most', async () => {
  const options = { timeoutMs: 100, then: 'allow', failures: 2, probeEveryMs: 300 } as const
  const { limiter, store, pass, inTime } = limiterOn(options)
  store.plan = ({ call }) => (call?.charges[0].key === 'locked' ? 'stall' : 'answer')
  for (let i = 0; i < 5; i++) void limiter.hit('locked')
  await pass(100)
  expect(await inTime(limiter.hit('bob'))).toMatchObject({ failure: { reason: 'not-asked' } })
  await pass(300)
  void limiter.hit('locked')
  expect(await inTime(limiter.hit('bob')), 'while the locked key tries').toMatchObject({ source: 'store' })
})

test('a key that stays locked after an outage does not keep the breaker open for a key that failed in it', async () => {
  const { limiter, store, pass } = limiterOn({ then: 'allow' })
  let isDown = true
  store.plan = ({ call }) => (isDown || call?.charges[0].key === 'locked' ? 'stall' : 'answer')
  let decided = 0
  const run = async (ms: number) => {
    for (let i = 0; i < ms; i += 10) {
      void limiter.hit('locked')
      void limiter.hit('bob').then(({ source }) => {
        if (source === 'store') decided += 1
      })
      await pass(10)
    }
  }
  await run(3000)
  expect(decided).toBe(0)
  isDown = false
  await run(3000)
  expect(decided).toBeGreaterThan(0)
  expect(limiter.failures.recovered).toBeGreaterThan(0)
})

test('limiters over one store share its health: only the first waits, and all report the recovery', async () => {
  const failure: FailureOptions = { timeoutMs: 100, then: 'allow', failures: 2 }
  const { limiter, store, pass, inTime, fail } = limiterOn(failure)
  const others = ['6/minute', '7/minute', '8/minute'].map((rules) =>
    createLimiter({ rules: parseRule(rules), store, failure, waiting: waitingLine() }),
  )
  await fail('stall', 2)
  for (const other of others) expect(await inTime(other.hit('bob'))).toMatchObject({ source: 'fallback' })
  expect(store.calls).toHaveLength(2)
  store.plan = 'answer'
  await pass(500)
  for (const one of [limiter, ...others]) {
    expect(await inTime(one.hit('ada'))).toMatchObject({ source: 'store' })
    expect(one.failures).toMatchObject({ recovered: 1 })
  }
})

test('a pause of the process itself is not taken for a silent store: answers that have arrived are read first', async () => {
  const store = failingStore(systemClock)
  const limiter = createLimiter({ rules: parseRule('5/minute'), store, failure: { timeoutMs: 20, then: 'deny' } })
  store.plan = 'stall'
  const hit = limiter.hit('ada')
  setImmediate(() => store.release(1))
  const endMs = performance.now() + 60
  while (performance.now() < endMs) {}
  expect(await hit).toMatchObject({ source: 'store' })
})

test('closed while calls are under way: each is still answered, by the store or at its deadline', async () => {
  for (const then of ['local', 'allow', 'deny'] as const) {
    const { limiter, store, timers, inTime } = limiterOn({ timeoutMs: 100, then })
    store.plan = 'stall'
    const [first, second] = [limiter.hit('ada'), limiter.hit('ada')]
    await limiter.close()
    expect(() => limiter.hit('ada')).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }))
    store.release(1)
    expect(await inTime(first)).toMatchObject({ source: 'store' })
    expect(await inTime(second, 100)).toMatchObject({ source: 'fallback' })
    expect(timers.size).toBe(0)
  }
})

test('options are checked', () => {
  for (const failure of [
    { timeoutMs: 0 },
    { then: 'open' as 'allow' },
    { failures: 0.5 },
    { probeEveryMs: -1 },
    { timeout: 5 } as object,
  ]) {
    expect(() => limiterOn(failure)).toThrow(expect.objectContaining({ code: 'ERR_OPTION' }))
  }
})
