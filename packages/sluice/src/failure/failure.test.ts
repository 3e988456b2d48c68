import { describe, expect, test, vi } from 'vitest'
import { parseRule } from '../algorithms/parse-rule.ts'
import type { Call } from '../core/call.ts'
import {
  createLimiter,
  type Decision,
  type FailureEvent,
  type FailureOptions,
  SluiceError,
  type Store,
  type TimerClock,
  waitingLine,
} from '../index.ts'
import { systemClock } from '../stores/system-clock.ts'
import { definitionStore, fakeClock } from '../testing/index.ts'
import { storeGuard } from './store-health.ts'

type Behaviour = 'answer' | 'hang' | 'refuse' | 'break' | 'misconfigured' | 'throw' | 'stumble' | 'reject oddly'

/** A store behind promises that answers, or fails as it is told. What it was asked while it hung, it can answer late. */
function moodyStore(clock: TimerClock, partOf?: (key: string) => string) {
  const inner = definitionStore(clock)
  const late: (() => void)[] = []
  const state = { behaviour: 'answer' as Behaviour, askedAtMs: [] as number[], late }
  const errors = {
    refuse: new SluiceError('ERR_STORE_REFUSED', 'busy'),
    break: new SluiceError('ERR_STORE_UNKNOWN', 'connection lost'),
    misconfigured: new SluiceError('ERR_STORE_FATAL', 'no rights'),
    stumble: new SluiceError('ERR_CLOCK', 'no time'),
    'reject oddly': 'socket hang up',
  }
  const answer = <T>(ask: () => T): Promise<T> => {
    state.askedAtMs.push(clock.now())
    const { behaviour } = state
    if (behaviour === 'answer') return Promise.resolve(ask())
    if (behaviour === 'hang') return new Promise((resolve) => late.push(() => resolve(ask())))
    if (behaviour === 'throw') throw new TypeError('not a promise')
    return Promise.reject(errors[behaviour])
  }
  const store: Store<'async'> = {
    timing: 'async',
    clock,
    guard: storeGuard(clock),
    tally(rules) {
      const tally = inner.tally(rules)
      return {
        ask: (call) => answer(() => tally.ask(call)),
        ...(partOf && { partsOf: ({ charges }: Call) => [partOf(charges[0].key)] }),
      }
    },
    clean: async () => 0,
    size: Promise.resolve(0),
    close: async () => {},
  }
  return { store, state }
}

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
  const { store, state } = moodyStore(clock, partOf)
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
  /** The answer, which must be there once so much time has passed. */
  const inTime = async <T>(answer: Promise<T>, ms = 0): Promise<T> => {
    answer.catch(() => {})
    await pass(ms)
    return Promise.race([answer, Promise.reject(new Error(`not settled within ${ms} ms`))])
  }
  const fail = async (behaviour: Behaviour, times: number) => {
    state.behaviour = behaviour
    for (let i = 0; i < times; i++) await inTime(limiter.hit('ada'), 100).catch(() => {})
  }
  return { clock, limiter, store, state, timers, heard, pass, inTime, fail }
}

describe('a store that never answers', () => {
  test('fails the call at its deadline, and not before, unless somebody stands in', async () => {
    const { limiter, state, pass, inTime } = limiterOn({ timeoutMs: 100 })
    state.behaviour = 'hang'
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
    test(`then ${then}: the decision says who made it`, async () => {
      const { limiter, state, inTime } = limiterOn({ timeoutMs: 100, then })
      state.behaviour = 'hang'
      const decision: Decision = await inTime(limiter.hit('ada'), 100)
      expect(decision).toMatchObject({ allowed, source: 'fallback' })
    })
  }

  test('then local: the same rules hold, in this process, over one rule and over several', async () => {
    for (const rules of ['5/minute', '5/minute; 100/hour']) {
      const { limiter, state, inTime } = limiterOn({ timeoutMs: 100, then: 'local' }, rules)
      state.behaviour = 'hang'
      const decisions = await inTime(Promise.all(Array.from({ length: 8 }, () => limiter.hit('ada'))), 100)
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5)
      expect(decisions.map(({ source }) => source)).toEqual(decisions.map(() => 'fallback'))
    }
  })

  test('then local: the stand-in keeps its count from one outage to the next', async () => {
    const { limiter, state, inTime, pass } = limiterOn({ timeoutMs: 100, then: 'local', probeEveryMs: 1000 })
    const allowedIn = async () => {
      state.behaviour = 'hang'
      const decisions = await inTime(Promise.all(Array.from({ length: 4 }, () => limiter.hit('ada'))), 100)
      return decisions.filter(({ allowed }) => allowed).length
    }
    expect(await allowedIn()).toBe(4)
    state.behaviour = 'answer'
    await pass(1000)
    expect(await inTime(limiter.hit('ada'))).toMatchObject({ source: 'store', remaining: 4 })
    expect(await allowedIn()).toBe(1)
  })

  test('then deny: it says when it is worth asking again', async () => {
    const { limiter, state, inTime } = limiterOn({ timeoutMs: 100, then: 'deny', probeEveryMs: 700 }, '5/minute; 100/hour')
    state.behaviour = 'hang'
    const decision = await inTime(limiter.hit('ada'), 100)
    expect(decision).toMatchObject({ remaining: 0, retryAfterMs: 700 })
    expect(decision.rules.map(({ remaining }) => remaining)).toEqual([0, 0])
  })

  test('then deny: whoever waits is served once the store is back', async () => {
    const { limiter, state, inTime, pass } = limiterOn({ timeoutMs: 100, then: 'deny', probeEveryMs: 500 })
    state.behaviour = 'hang'
    const turn = limiter.wait('ada')
    await pass(100)
    state.behaviour = 'answer'
    expect(await inTime(turn, 500)).toMatchObject({ allowed: true, source: 'store' })
  })

  test('an answer that comes too late changes nothing, and is no sign of recovery', async () => {
    const { limiter, state, heard, inTime } = limiterOn({ timeoutMs: 100, then: 'local' })
    state.behaviour = 'hang'
    expect(await inTime(limiter.hit('ada'), 100)).toMatchObject({ source: 'fallback' })
    for (const answer of state.late) answer()
    await inTime(Promise.resolve())
    expect(heard).toEqual(['timeout'])
    expect(limiter.failures).toMatchObject({ timeout: 1, recovered: 0 })
  })
})

describe('what asks for a number', () => {
  const ask = (limiter: ReturnType<typeof limiterOn>['limiter']): Promise<unknown>[] => [
    limiter.inc('ada', 2),
    limiter.get('ada'),
    limiter.set('ada', 3),
    limiter.expiresAt('ada'),
    limiter.refund('ada', 1),
    limiter.reset('ada'),
  ]

  for (const then of ['allow', 'deny', 'throw'] as const) {
    test(`then ${then}: fails, because nobody can make it up`, async () => {
      const { limiter, state, inTime } = limiterOn({ timeoutMs: 100, then, failures: 100 })
      state.behaviour = 'hang'
      const answers = await inTime(Promise.allSettled(ask(limiter)), 100)
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 'rejected'))
    })
  }

  test('then local: is answered from what the stand-in has counted', async () => {
    const { limiter, state, clock, inTime } = limiterOn({ timeoutMs: 100, then: 'local', failures: 100 })
    state.behaviour = 'hang'
    expect(await inTime(Promise.all(ask(limiter)), 100)).toEqual([2, 2, 3, clock.now() + 60_000, 2, undefined])
  })

  test('a reset reaches the stand-in also when the store answers', async () => {
    const { limiter, state, inTime, fail } = limiterOn({ timeoutMs: 100, then: 'local', failures: 100 })
    await fail('hang', 5)
    state.behaviour = 'answer'
    await inTime(limiter.reset('ada'))
    state.behaviour = 'hang'
    expect(await inTime(limiter.hit('ada'), 100)).toMatchObject({ allowed: true, remaining: 4 })
  })
})

describe('the breaker', () => {
  test('stops asking after a run of failures, so that an outage costs no waiting, and one call at a time finds out when it ends', async () => {
    const { limiter, state, heard, pass, inTime, fail } = limiterOn({
      timeoutMs: 100,
      then: 'allow',
      failures: 3,
      probeEveryMs: 1000,
    })
    await fail('hang', 3)
    expect(state.askedAtMs).toHaveLength(3)
    await inTime(limiter.hit('ada'))
    expect(state.askedAtMs).toHaveLength(3)
    await pass(1000)
    await inTime(Promise.all([limiter.hit('ada'), limiter.hit('ada')]), 100)
    expect(state.askedAtMs).toHaveLength(4)
    state.behaviour = 'answer'
    await pass(1000)
    expect(await inTime(limiter.hit('ada'))).toMatchObject({ source: 'store' })
    expect(heard).toEqual(['timeout', 'timeout', 'timeout', 'not-asked', 'not-asked', 'timeout', 'recovered'])
    expect(limiter.failures).toEqual({ timeout: 4, refused: 0, unknown: 0, fatal: 0, 'not-asked': 2, recovered: 1 })
  })

  test('then throw: who was not asked fails with an error that says so', async () => {
    const { limiter, inTime, fail } = limiterOn({ timeoutMs: 100, failures: 2 })
    await fail('break', 2)
    await expect(inTime(limiter.hit('ada'))).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED', transient: true })
  })

  test('every reason but fatal counts, in any mixture; an answer starts the count anew', async () => {
    const { limiter, state, heard, inTime, fail } = limiterOn({ timeoutMs: 100, then: 'allow', failures: 4, probeEveryMs: 1000 })
    await fail('hang', 1)
    await fail('break', 1)
    await fail('refuse', 1)
    await fail('answer', 1)
    await fail('hang', 1)
    await fail('refuse', 1)
    await fail('break', 1)
    const asked = state.askedAtMs.length
    await fail('answer', 1)
    expect(state.askedAtMs).toHaveLength(asked + 1)
    await fail('break', 4)
    state.behaviour = 'answer'
    expect(await inTime(limiter.hit('ada'))).toMatchObject({ source: 'fallback' })
    expect(heard).toEqual([
      ...['timeout', 'unknown', 'refused', 'recovered', 'timeout', 'refused', 'unknown', 'recovered'],
      ...['unknown', 'unknown', 'unknown', 'unknown', 'not-asked'],
    ])
  })

  test('fatal answers do not open it, and one to the call that tries closes it: the store is there', async () => {
    const { limiter, state, heard, inTime, pass, fail } = limiterOn({ timeoutMs: 100, then: 'allow', failures: 2 })
    await fail('misconfigured', 5)
    expect(state.askedAtMs).toHaveLength(5)
    await fail('break', 2)
    await pass(500)
    await fail('misconfigured', 1)
    state.behaviour = 'answer'
    expect(await inTime(limiter.hit('ada'))).toMatchObject({ source: 'store' })
    expect(heard.slice(5)).toEqual(['unknown', 'unknown', 'recovered', 'fatal'])
  })

  test('the call that tries is refused: it is not tried again, and the next one waits its time', async () => {
    const { limiter, state, inTime, pass, fail } = limiterOn({ timeoutMs: 100, then: 'allow', failures: 2, probeEveryMs: 300 })
    await fail('break', 2)
    state.behaviour = 'refuse'
    await pass(300)
    expect(await inTime(limiter.hit('ada'))).toMatchObject({ source: 'fallback' })
    expect(state.askedAtMs).toHaveLength(3)
    await pass(290)
    await inTime(limiter.hit('ada'))
    expect(state.askedAtMs).toHaveLength(3)
    await pass(10)
    await inTime(limiter.hit('ada'))
    expect(state.askedAtMs).toHaveLength(4)
  })

  test('an error that is not the store’s does not leave it open for ever', async () => {
    const { limiter, state, inTime, pass, fail } = limiterOn({ timeoutMs: 100, then: 'allow', failures: 2 })
    await fail('break', 2)
    await pass(500)
    state.behaviour = 'stumble'
    await expect(inTime(limiter.hit('ada'))).rejects.toMatchObject({ code: 'ERR_CLOCK' })
    await pass(500)
    state.behaviour = 'answer'
    expect(await inTime(limiter.hit('ada'))).toMatchObject({ source: 'store' })
  })

  test('opens while calls wait to be tried again: they ask no more', async () => {
    const { limiter, state, inTime } = limiterOn({ timeoutMs: 200, then: 'allow', failures: 2 })
    state.behaviour = 'refuse'
    const waiting = limiter.hit('ada')
    await inTime(Promise.resolve(), 40)
    state.behaviour = 'break'
    await inTime(Promise.all([limiter.hit('bob'), limiter.hit('bob')]))
    const asked = state.askedAtMs.length
    expect(await inTime(waiting, 30)).toMatchObject({ source: 'fallback' })
    expect(state.askedAtMs).toHaveLength(asked)
    expect(limiter.failures).toMatchObject({ refused: 1, unknown: 2 })
  })
})

describe('errors', () => {
  test('certainly not executed: asked again after 10, 20, 40 ms and so on, as long as the deadline is not reached', async () => {
    const { limiter, state, clock, inTime } = limiterOn({ timeoutMs: 100 })
    state.behaviour = 'refuse'
    const startMs = clock.now()
    await expect(inTime(limiter.hit('ada'), 70)).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED', message: 'busy' })
    expect(state.askedAtMs.map((ms) => ms - startMs)).toEqual([0, 10, 30, 70])
    expect(limiter.failures).toMatchObject({ refused: 1, timeout: 0 })
  })

  test('certainly not executed, then done: counted once', async () => {
    const { limiter, state, pass, inTime } = limiterOn({ timeoutMs: 100 })
    state.behaviour = 'refuse'
    const hit = limiter.hit('ada')
    await pass(25)
    state.behaviour = 'answer'
    expect(await inTime(hit, 5)).toMatchObject({ allowed: true, source: 'store', remaining: 4 })
    expect(limiter.failures).toMatchObject({ refused: 0, recovered: 0 })
  })

  test('refused, asked again, and then silence: that may have counted', async () => {
    const { limiter, state, pass, inTime } = limiterOn({ timeoutMs: 100 })
    state.behaviour = 'refuse'
    const hit = limiter.hit('ada')
    hit.catch(() => {})
    await pass(5)
    state.behaviour = 'hang'
    await expect(inTime(hit, 95)).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
    expect(limiter.failures).toMatchObject({ timeout: 1, refused: 0 })
  })

  test('refused so late that the deadline comes before the next try: refused, not timed out', async () => {
    const { limiter, state, clock, pass, inTime } = limiterOn({ timeoutMs: 100 })
    state.behaviour = 'refuse'
    const hit = limiter.hit('ada')
    hit.catch(() => {})
    // The clock runs while nobody listens: the second try is made late, and so would the third be.
    await pass(0)
    clock.advance(75)
    await expect(inTime(hit, 25)).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
  })

  test('perhaps executed: never asked again', async () => {
    const { limiter, state, inTime } = limiterOn({ timeoutMs: 100 })
    state.behaviour = 'break'
    await expect(inTime(limiter.hit('ada'), 100)).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
    expect(state.askedAtMs).toHaveLength(1)
  })

  test('never going to work: said at once', async () => {
    const { limiter, state, inTime } = limiterOn({ timeoutMs: 100 })
    state.behaviour = 'misconfigured'
    await expect(inTime(limiter.hit('ada'))).rejects.toMatchObject({ code: 'ERR_STORE_FATAL', transient: false })
  })

  test('that the store has not sorted, or thrown: perhaps executed, with what was thrown as the cause', async () => {
    for (const behaviour of ['throw', 'reject oddly'] as const) {
      const { limiter, state, inTime } = limiterOn({ timeoutMs: 100 })
      state.behaviour = behaviour
      const cause = behaviour === 'throw' ? expect.any(TypeError) : 'socket hang up'
      await expect(inTime(limiter.hit('ada'))).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN', cause })
    }
  })
})

describe('listeners', () => {
  test('hear of each failure with its error, until they stop listening', async () => {
    const { limiter, fail } = limiterOn({ timeoutMs: 100, then: 'allow' })
    const heard: FailureEvent[] = []
    const stop = limiter.on('failure', (event) => heard.push(event))
    await fail('break', 1)
    stop()
    await fail('break', 1)
    expect(heard).toEqual([{ reason: 'unknown', error: expect.objectContaining({ message: 'connection lost' }) }])
  })

  test('that throw spoil neither the call nor what others hear; what they threw is not hidden', async () => {
    const later: (() => void)[] = []
    const spy = vi.spyOn(globalThis, 'queueMicrotask').mockImplementation((callback) => later.push(callback))
    try {
      const { limiter, state, heard, inTime } = limiterOn({ timeoutMs: 100, then: 'deny' })
      limiter.on('failure', () => {
        throw new Error('a bug in the listener')
      })
      const after: string[] = []
      limiter.on('failure', ({ reason }) => after.push(reason))
      state.behaviour = 'break'
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
  await fail('break', 1)
  expect([before.unknown, limiter.failures.unknown]).toEqual([0, 1])
})

describe('timers', () => {
  test('are held only while calls are under way, so that a program can end', async () => {
    const { limiter, state, timers, inTime, pass } = limiterOn({ timeoutMs: 100, then: 'allow', failures: 10 })
    for (const behaviour of ['answer', 'break', 'refuse', 'hang', 'misconfigured'] as const) {
      state.behaviour = behaviour
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
      const { limiter, state, clock, pass, inTime } = limiterOn({ timeoutMs: 100, then: 'allow', failures: 100 })
      state.behaviour = 'hang'
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

test('a part of the store that is down does not close the others', async () => {
  const { limiter, state, pass, inTime, fail } = limiterOn(
    { timeoutMs: 100, then: 'allow', failures: 2 },
    '5/minute',
    (key) => key,
  )
  await fail('break', 2)
  const asked = state.askedAtMs.length
  state.behaviour = 'answer'
  expect(await inTime(limiter.hit('ada'))).toMatchObject({ source: 'fallback' })
  expect(await inTime(limiter.hit('bob'))).toMatchObject({ source: 'store' })
  expect(state.askedAtMs).toHaveLength(asked + 1)
  expect(limiter.failures).toMatchObject({ recovered: 0 })
  await pass(500)
  expect(await inTime(limiter.hit('ada'))).toMatchObject({ source: 'store' })
  expect(limiter.failures).toMatchObject({ recovered: 1 })
})

test('of limiters over one store only the first waits: what it has found out, all know, and all hear of the end', async () => {
  const failure: FailureOptions = { timeoutMs: 100, then: 'allow', failures: 2 }
  const { limiter, store, state, pass, inTime, fail } = limiterOn(failure)
  const others = ['6/minute', '7/minute', '8/minute'].map((rules) =>
    createLimiter({ rules: parseRule(rules), store, failure, waiting: waitingLine() }),
  )
  await fail('hang', 2)
  for (const other of others) expect(await inTime(other.hit('bob'))).toMatchObject({ source: 'fallback' })
  expect(state.askedAtMs).toHaveLength(2)
  state.behaviour = 'answer'
  await pass(500)
  for (const one of [limiter, ...others]) {
    expect(await inTime(one.hit('ada'))).toMatchObject({ source: 'store' })
    expect(one.failures).toMatchObject({ recovered: 1 })
  }
})

test('a pause of the process itself is not taken for a silent store: what has come meanwhile is read first', async () => {
  const { store, state } = moodyStore(systemClock)
  const limiter = createLimiter({ rules: parseRule('5/minute'), store, failure: { timeoutMs: 20, then: 'deny' } })
  state.behaviour = 'hang'
  const hit = limiter.hit('ada')
  setImmediate(() => state.late[0]())
  const endMs = performance.now() + 60
  while (performance.now() < endMs) {}
  expect(await hit).toMatchObject({ source: 'store' })
})

test('closed while calls are under way: each is still answered, by the store or at its deadline', async () => {
  for (const then of ['local', 'allow', 'deny'] as const) {
    const { limiter, state, timers, inTime } = limiterOn({ timeoutMs: 100, then })
    state.behaviour = 'hang'
    const [first, second] = [limiter.hit('ada'), limiter.hit('ada')]
    await limiter.close()
    expect(() => limiter.hit('ada')).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }))
    state.late[0]()
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
