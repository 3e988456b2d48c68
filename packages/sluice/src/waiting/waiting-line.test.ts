import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test, vi } from 'vitest'
import { systemClock } from '../engines/system-clock.ts'
import { createLimiter, fixedWindow, gcra, memoryStore, parseRule, waitingLine } from '../index.ts'
import { definitionStore, failingStore, fakeClock } from '../testing/index.ts'

/** One a second, from a bucket of one. */
function oneASecond(maxWaiting?: number) {
  const clock = fakeClock()
  const waiting = waitingLine(maxWaiting === undefined ? {} : { maxWaiting })
  const limiter = createLimiter({ rules: gcra({ limit: 1, period: '1s' }), store: memoryStore({ clock }), waiting })
  const start = clock.now()
  const served: string[] = []
  const wait = (name: string, key = 'ada', more: object = {}) =>
    limiter.wait(key, more).then(
      () => served.push(`${name} at ${clock.now() - start}`),
      (error) => served.push(`${name}: ${error.code ?? error.message ?? error}`),
    )
  /** Moves the clock a little at a time, and lets promises settle before and after. */
  const pass = async (ms: number) => {
    for (let i = 0; i < ms; i += 100) {
      await new Promise(setImmediate)
      clock.advance(100)
    }
    await new Promise(setImmediate)
  }
  return { clock, limiter, served, wait, pass }
}

test('a wait that need not wait is over at once', async () => {
  const { limiter } = oneASecond()
  expect(await limiter.wait('ada')).toMatchObject({ allowed: true, remaining: 0 })
})

test('a caller waits in the line of the subject that is charged, also if a getter of it changes', async () => {
  const clock = fakeClock()
  const rules = gcra({ limit: 1, period: '1s', per: 'user' })
  const limiter = createLimiter({ rules, store: memoryStore({ clock }), waiting: waitingLine() })
  const served: string[] = []
  const changing = () => {
    const users = ['ada', 'bob']
    return {
      get user() {
        return users.shift() ?? 'nobody'
      },
    }
  }
  const wait = (name: string, subject: { readonly user: string }) => limiter.wait(subject).then(() => served.push(name))
  for (const name of ['first', 'second']) wait(name, { user: 'ada' })
  wait('third', changing())
  wait('fourth', { user: 'ada' })
  for (let i = 0; i < 40; i++) {
    await new Promise(setImmediate)
    clock.advance(100)
  }
  await new Promise(setImmediate)
  expect(served).toEqual(['first', 'second', 'third', 'fourth'])
})

test('first come, first served, each as soon as there are units and never before', async () => {
  const { served, wait, pass } = oneASecond()
  for (const name of ['a', 'b', 'c', 'd']) wait(name)
  await pass(5000)
  expect(served).toEqual(['a at 0', 'b at 1000', 'c at 2000', 'd at 3000'])
})

test('a cheap caller does not overtake a costly one that came first', async () => {
  const clock = fakeClock()
  const limiter = createLimiter({
    rules: gcra({ limit: 1, period: '1s', burst: 3 }),
    store: memoryStore({ clock }),
    waiting: waitingLine(),
  })
  limiter.hit('ada', { cost: 2 })
  const served: string[] = []
  const costly = limiter.wait('ada', { cost: 3 }).then(() => served.push('costly'))
  const cheap = limiter.wait('ada').then(() => served.push('cheap'))
  clock.advance(10_000)
  await Promise.all([costly, cheap])
  expect(served).toEqual(['costly', 'cheap'])
})

test('keys do not wait for each other', async () => {
  const { served, wait, pass } = oneASecond()
  wait('a1', 'a')
  wait('a2', 'a')
  wait('b1', 'b')
  await pass(100)
  expect(served).toEqual(['a1 at 0', 'b1 at 0'])
})

test('one jump of the clock serves everybody whose time came on the way, at the right time each', async () => {
  const { clock, limiter } = oneASecond()
  const start = clock.now()
  const done = Promise.all(Array.from({ length: 5 }, () => limiter.wait('ada')))
  clock.advance(10_000)
  await done
  expect(limiter.expiresAt('ada')).toBe(0)
  clock.set(start + 4500)
  expect(limiter.get('ada')).toBe(1)
})

test('others may take the units; the wait goes on', async () => {
  const { clock, limiter, served, wait, pass } = oneASecond()
  wait('a')
  wait('b')
  await pass(900)
  clock.advance(99)
  limiter.inc('ada')
  await pass(2000)
  expect(served).toEqual(['a at 0', expect.stringMatching(/^b at 20\d\d$/)])
})

test('thousands of callers of one key are all served, or all rejected', async () => {
  const clock = fakeClock()
  const limiter = createLimiter({
    rules: fixedWindow({ limit: 9000, window: '1s' }),
    store: memoryStore({ clock }),
    waiting: waitingLine(),
  })
  limiter.set('ada', 9000)
  const waits = Array.from({ length: 9000 }, () => limiter.wait('ada'))
  clock.advance(1000)
  expect((await Promise.all(waits)).every(({ allowed }) => allowed)).toBe(true)
  const sentAway = Promise.allSettled(Array.from({ length: 9000 }, () => limiter.wait('ada')))
  limiter.close()
  for (const result of await sentAway) expect(result).toMatchObject({ reason: { code: 'ERR_CLOSED' } })
})

test('units that are given back, and a key that is reset or set, serve those who wait at once', async () => {
  for (const free of ['refund', 'reset', 'set'] as const) {
    const { limiter, served, wait, pass } = oneASecond()
    limiter.inc('ada', 5)
    wait('a')
    if (free === 'set') limiter.set('ada', 0)
    else if (free === 'refund') limiter.refund('ada', 5)
    else limiter.reset('ada')
    await pass(100)
    expect(served).toEqual(['a at 0'])
  }
})

describe('a wait ends early', () => {
  test('when it is aborted, with the reason given; the next in line moves up', async () => {
    const { served, wait, pass } = oneASecond()
    const abort = new AbortController()
    wait('a')
    wait('b', 'ada', { signal: abort.signal })
    wait('c')
    await pass(500)
    abort.abort(new Error('went home'))
    await pass(1000)
    expect(served).toEqual(['a at 0', 'b: went home', 'c at 1000'])
  })

  test('and a cheaper one behind it does not wait for what it would have waited for', async () => {
    const clock = fakeClock()
    const limiter = createLimiter({
      rules: gcra({ limit: 1, period: '1s', burst: 3 }),
      store: memoryStore({ clock }),
      waiting: waitingLine(),
    })
    limiter.hit('ada', { cost: 2 })
    const abort = new AbortController()
    const costly = limiter.wait('ada', { cost: 3, signal: abort.signal })
    const cheap = limiter.wait('ada')
    abort.abort('gone')
    await expect(costly).rejects.toBe('gone')
    expect(await cheap).toMatchObject({ allowed: true })
  })

  test('before it begins, if it was aborted already', async () => {
    const { limiter } = oneASecond()
    await expect(limiter.wait('ada', { signal: AbortSignal.abort('no') })).rejects.toBe('no')
    expect(limiter.get('ada')).toBe(0)
  })

  test('at once, when the first in line would have to wait longer than maxWaitMs', async () => {
    const { limiter } = oneASecond()
    limiter.hit('ada')
    await expect(limiter.wait('ada', { maxWaitMs: 999 })).rejects.toMatchObject({
      code: 'ERR_WAIT_TIMEOUT',
      transient: true,
      message: 'the hit cannot pass within maxWaitMs, which is 999 ms: it can pass in 1000 ms at the earliest',
    })
    await expect(Promise.race([limiter.wait('ada', { maxWaitMs: 1000 }), 'still waiting'])).resolves.toBe('still waiting')
  })

  test('after maxWaitMs, for one further back', async () => {
    const { served, wait, pass } = oneASecond()
    wait('a')
    wait('b')
    wait('c', 'ada', { maxWaitMs: 1500 })
    await pass(3000)
    expect(served).toEqual(['a at 0', 'b at 1000', 'c: ERR_WAIT_TIMEOUT'])
  })

  test('but not in its last millisecond: there, it is served', async () => {
    const { clock, limiter } = oneASecond()
    const waits = [limiter.wait('ada'), limiter.wait('ada', { maxWaitMs: 1000 }), limiter.wait('ada', { maxWaitMs: 2000 })]
    clock.advance(1000)
    clock.advance(1000)
    expect((await Promise.all(waits)).length).toBe(3)
  })

  test('at once, when the cost can never pass', async () => {
    const { limiter } = oneASecond()
    await expect(limiter.wait('ada', { cost: 2 })).rejects.toMatchObject({ code: 'ERR_WAIT_NEVER' })
  })

  describe('at once, when the wait is longer than retryWithinMs', () => {
    /** One a minute, and the minute is spent. */
    function oneAMinute(retryWithinMs: number) {
      const clock = fakeClock()
      const rules = fixedWindow({ limit: 1, window: '1m', name: 'minute' })
      const limiter = createLimiter({ rules, store: memoryStore({ clock }), waiting: waitingLine(), retryWithinMs })
      limiter.hit('ada')
      return { clock, limiter }
    }
    const never = { code: 'ERR_WAIT_NEVER', transient: false, message: expect.stringContaining('longer than retryWithinMs') }

    test.each([{}, { maxWaitMs: Infinity }, { maxWaitMs: 600_000 }, { maxWaitMs: 5 }])('with %j', async (options) => {
      const { clock, limiter } = oneAMinute(59_999)
      await expect(limiter.wait('ada', options)).rejects.toMatchObject(never)
      clock.advance(1)
      const turn = limiter.wait('ada')
      clock.advance(59_999)
      expect((await turn).allowed).toBe(true)
      expect(limiter.get('ada')).toBe(1)
    })

    test('but maxWaitMs decides about every other wait', async () => {
      const { limiter } = oneAMinute(60_000)
      await expect(limiter.wait('ada', { maxWaitMs: 59_999 })).rejects.toMatchObject({
        code: 'ERR_WAIT_TIMEOUT',
        transient: true,
      })
    })

    test('and the next in line has its turn', async () => {
      const clock = fakeClock()
      const rules = gcra({ limit: 1, period: '1s', burst: 10 })
      const limiter = createLimiter({ rules, store: memoryStore({ clock }), waiting: waitingLine(), retryWithinMs: 2000 })
      limiter.hit('ada', { cost: 10 })
      const large = limiter.wait('ada', { cost: 3 })
      const small = limiter.wait('ada', { cost: 2 })
      await expect(large).rejects.toMatchObject({ code: 'ERR_WAIT_NEVER' })
      clock.advance(2000)
      expect((await small).allowed).toBe(true)
    })

    test("but not while the store fails and the fallback is 'deny'", async () => {
      const clock = fakeClock()
      const store = failingStore(clock)
      const limiter = createLimiter({
        rules: fixedWindow({ limit: 1, window: '1m' }),
        store,
        failure: { then: 'deny', probeEveryMs: 500 },
        waiting: waitingLine(),
        retryWithinMs: 100,
      })
      store.plan = 'refuse'
      const turn = limiter.wait('ada')
      for (let i = 0; i < 20; i++) {
        if (i === 10) store.plan = 'answer'
        await new Promise(setImmediate)
        clock.advance(500)
      }
      expect((await turn).allowed).toBe(true)
    })
  })

  test('at once, when too many wait already', async () => {
    const { served, wait, pass } = oneASecond(2)
    wait('a')
    wait('b')
    wait('c')
    wait('d')
    await pass(100)
    expect(served).toEqual(['a at 0', 'd: ERR_WAIT_FULL'])
  })

  test('when the limiter is closed, and no timer is left', async () => {
    vi.useFakeTimers()
    try {
      const limiter = createLimiter({ rules: fixedWindow({ limit: 1, window: '90d' }), waiting: waitingLine() })
      limiter.hit('ada')
      const waits = [limiter.wait('ada'), limiter.wait('ada', { maxWaitMs: 100 * 86_400_000 })]
      const settled = Promise.allSettled(waits)
      limiter.close()
      for (const result of await settled) expect(result).toMatchObject({ reason: { code: 'ERR_CLOSED' } })
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })
})

test('a value that is not a signal is refused before the wait, and nothing is spent', async () => {
  const clock = fakeClock()
  const limiter = createLimiter({
    rules: fixedWindow({ limit: 1, window: '1s' }),
    store: memoryStore({ clock }),
    waiting: waitingLine(),
  })
  for (const round of ['with units', 'without']) {
    for (const signal of [3, 'x', {}, null, new AbortController(), new EventTarget()]) {
      const refused = limiter.wait('ada', { signal: signal as AbortSignal })
      await expect(refused, round).rejects.toMatchObject({ code: 'ERR_OPTION', option: 'signal' })
    }
    if (round === 'with units') limiter.hit('ada')
  }
  clock.advance(1000)
  expect(limiter.get('ada')).toBe(0)
  limiter.close()
})

describe('where a timer ends with the request that made it', () => {
  /** Each request has timers of its own; `end` takes them away. A request goes on with its own promises. */
  function requests() {
    const clock = fakeClock()
    const ended = new Set<string>()
    const current = new AsyncLocalStorage<string>()
    const own = (name: string, run: () => void): void => current.run(name, run)
    const after = (ms: number, callback: () => void): (() => void) => {
      const name = current.getStore() ?? ''
      return clock.after(ms, () => {
        if (!ended.has(name)) own(name, callback)
      })
    }
    const store = memoryStore({ clock: { now: () => clock.now(), after } })
    const limiter = createLimiter({ rules: gcra({ limit: 1, period: '1s' }), store, waiting: waitingLine() })
    return { clock, limiter, own, end: (name: string) => ended.add(name) }
  }

  test('a caller is woken in time by a timer of its own, when the one before it has been served and its request has ended', async () => {
    const { clock, limiter, own, end } = requests()
    const startMs = clock.now()
    const served: string[] = []
    limiter.hit('ada')
    for (const name of ['a', 'b', 'c']) {
      own(name, () => {
        void limiter.wait('ada').then(() => {
          served.push(`${name} at ${clock.now() - startMs}`)
          end(name)
        })
      })
    }
    for (let i = 0; i < 40; i++) {
      clock.advance(100)
      await new Promise(setImmediate)
    }
    expect(served).toEqual(['a at 1000', 'b at 2000', 'c at 3000'])
  })

  test('a caller that was made to try by other requests is still woken in time when those have ended', async () => {
    const { clock, limiter, own, end } = requests()
    const startMs = clock.now()
    let servedMs = 0
    limiter.inc('ada', 3)
    own('a', () => {
      void limiter.wait('ada').then(() => {
        servedMs = clock.now() - startMs
      })
    })
    for (const name of ['x', 'y']) {
      await new Promise(setImmediate)
      own(name, () => void limiter.refund('ada'))
      await new Promise(setImmediate)
      end(name)
    }
    for (let i = 0; i < 20; i++) {
      clock.advance(100)
      await new Promise(setImmediate)
    }
    expect(servedMs).toBe(1000)
  })

  test('those behind a caller whose request has ended get their turn all the same', async () => {
    const { clock, limiter, own, end } = requests()
    const startMs = clock.now()
    let servedMs = 0
    limiter.hit('ada')
    own('a', () => void limiter.wait('ada'))
    own('b', () => {
      void limiter.wait('ada').then(() => {
        servedMs = clock.now() - startMs
      })
    })
    end('a')
    for (let i = 0; i < 150 && servedMs === 0; i++) {
      clock.advance(100)
      await new Promise(setImmediate)
    }
    expect(servedMs).toBeGreaterThan(0)
    expect(servedMs).toBeLessThanOrEqual(11_000)
  })
})

test('a wait longer than a 32-bit timer does not wake early', async () => {
  vi.useFakeTimers()
  try {
    const limiter = createLimiter({
      rules: fixedWindow({ limit: 1, window: '40d' }),
      store: definitionStore(systemClock),
      waiting: waitingLine(),
    })
    limiter.hit('ada')
    const done = vi.fn()
    limiter.wait('ada').then(done)
    await vi.advanceTimersByTimeAsync(39 * 86_400_000)
    expect(done).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(86_400_000)
    expect(done).toHaveBeenCalledOnce()
    limiter.close()
  } finally {
    vi.useRealTimers()
  }
})

test('bad options are refused', async () => {
  const { limiter } = oneASecond()
  await expect(limiter.wait('ada', { maxWaitMs: -1 })).rejects.toMatchObject({ code: 'ERR_OPTION' })
  await expect(limiter.wait('ada', { maxWaitMs: 0.5 })).rejects.toMatchObject({ code: 'ERR_OPTION' })
  await expect(limiter.wait('', {})).rejects.toMatchObject({ code: 'ERR_KEY' })
  await expect(limiter.wait('ada', { timeout: 5 } as object)).rejects.toMatchObject({ code: 'ERR_OPTION' })
})

describe('on a store that answers with promises', () => {
  test('a failure reaches the one who waits, and the next tries again', async () => {
    let failures = 1
    const store = failingStore(fakeClock())
    store.plan = () => (failures-- > 0 ? { fail: new Error('store is gone') } : 'answer')
    const limiter = createLimiter({ rules: parseRule('5/second'), store, waiting: waitingLine() })
    const waits = await Promise.allSettled([limiter.wait('ada'), limiter.wait('ada')])
    expect(waits.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  })
})
