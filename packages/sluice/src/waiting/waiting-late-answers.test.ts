// Waiting on a slow store: a caller that is rejected was not charged.

import { describe, expect, test } from 'vitest'
import { FIGURES, type Figures } from '../core/call.ts'
import { createLimiter, fixedWindow, gcra, parseRule, type WaitOptions, waitingLine } from '../index.ts'
import { type FailingStore, type FakeClock, failingStore, fakeClock } from '../testing/index.ts'
import { seededRandom } from '../testing/random.ts'

const LATENCY_MS = 80

/** Moves the clock a millisecond at a time, and lets promises settle after each. */
async function passSlowly(clock: FakeClock, ms: number): Promise<void> {
  for (let i = 0; i < ms; i++) {
    await new Promise(setImmediate)
    clock.advance(1)
  }
  await new Promise(setImmediate)
}

/** Units that hits have spent so far, over all keys. */
function spentOn({ calls }: FailingStore): number {
  const isAllowed = (figures: Figures) => figures.every((figure, i) => i % FIGURES !== 1 || figure === 0)
  const allowed = calls.filter(({ call, answer }) => call?.operation === 'hit' && answer && isAllowed(answer as Figures))
  return allowed.reduce((sum, { call }) => sum + (call?.charges[0].amount ?? 0), 0)
}

/** Each call takes 40 ms to the store and 40 ms back. */
function farAway(rules = fixedWindow({ limit: 2, window: '1s' })) {
  const clock = fakeClock()
  const store = failingStore(clock)
  store.plan = { thereMs: LATENCY_MS / 2, backMs: LATENCY_MS / 2 }
  const limiter = createLimiter({ rules, store, failure: { timeoutMs: 60_000 }, waiting: waitingLine() })
  const startMs = clock.now()
  const outcomes: string[] = []
  const wait = (name: string, options: WaitOptions = {}) =>
    limiter.wait('ada', options).then(
      () => outcomes.push(`${name} at ${clock.now() - startMs}`),
      (error) => outcomes.push(`${name} at ${clock.now() - startMs}: ${error?.code ?? error}`),
    )
  return { clock, store, limiter, outcomes, wait, pass: (ms: number) => passSlowly(clock, ms) }
}

describe('maxWaitMs', () => {
  test('does not end an attempt that is under way: if units are left, the caller gets them', async () => {
    const { store, outcomes, wait, pass } = farAway()
    wait('a', { maxWaitMs: 0 })
    await pass(200)
    expect(outcomes).toEqual(['a at 80'])
    expect(spentOn(store)).toBe(1)
  })

  test('counts from the first denial, not from the call', async () => {
    const { store, limiter, outcomes, wait, pass } = farAway(gcra({ limit: 1, period: '1s' }))
    const first = limiter.hit('ada')
    await pass(LATENCY_MS)
    await first
    // The denial is decided 80 ms after the hit, and heard 40 ms later. It says 920 ms.
    wait('impatient', { maxWaitMs: 919 })
    wait('patient', { maxWaitMs: 920 })
    await pass(2000)
    expect(outcomes).toEqual(['impatient at 160: ERR_WAIT_TIMEOUT', expect.stringMatching(/^patient at 1\d\d\d$/)])
    expect(spentOn(store)).toBe(2)
  })

  test('does not count the time in which the store decides for others: with units for all, all get them', async () => {
    const { store, outcomes, wait, pass } = farAway(fixedWindow({ limit: 5, window: '1h' }))
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) wait(name, { maxWaitMs: 10 })
    await pass(800)
    expect(outcomes).toEqual(['a at 80', 'b at 160', 'c at 240', 'd at 320', 'e at 400', 'f at 480: ERR_WAIT_TIMEOUT'])
    expect(spentOn(store)).toBe(5)
  })

  test('of a caller further back ends at a denial that comes after it, and not before', async () => {
    const { store, outcomes, wait, pass } = farAway(fixedWindow({ limit: 1, window: '1s' }))
    wait('a')
    wait('b')
    wait('c', { maxWaitMs: 300 })
    wait('d', { maxWaitMs: 895 })
    await pass(1600)
    // b hears at 160 that it has to wait 920 ms. c gives up at 460. d's time ends at 1055, before b tries at 1080.
    expect(outcomes).toEqual(['a at 80', 'c at 460: ERR_WAIT_TIMEOUT', 'd at 1055: ERR_WAIT_TIMEOUT', 'b at 1160'])
    expect(spentOn(store)).toBe(2)
  })

  test('that ends while the first in line tries is over only if that is denied', async () => {
    const { store, outcomes, wait, pass } = farAway(fixedWindow({ limit: 2, window: '1s' }))
    for (const name of ['a', 'b', 'c']) wait(name)
    wait('d', { maxWaitMs: 880 })
    wait('e', { maxWaitMs: 880 })
    await pass(2000)
    // c hears at 240 that it has to wait 840 ms, and tries from 1080 to 1160. The time of d and e ends at 1120.
    expect(outcomes).toEqual(['a at 80', 'b at 160', 'c at 1160', 'd at 1240', 'e at 1320: ERR_WAIT_TIMEOUT'])
    expect(spentOn(store)).toBe(4)
  })

  test('does not ask the store when it ends: it is known that no units are left', async () => {
    const { store, outcomes, wait, pass } = farAway(fixedWindow({ limit: 1, window: '1h' }))
    wait('a')
    wait('b')
    for (let i = 0; i < 20; i++) wait(`c${i}`, { maxWaitMs: 10 * i })
    await pass(600)
    expect(outcomes).toHaveLength(21)
    expect(store.calls.filter(({ answer }) => answer !== undefined)).toHaveLength(2)
  })
})

describe('a caller that leaves while the store decides for it', () => {
  test('gets its decision if the store allows the hit', async () => {
    const { store, outcomes, wait, pass } = farAway(fixedWindow({ limit: 1, window: '1h' }))
    const abort = new AbortController()
    wait('a', { signal: abort.signal })
    wait('b', { maxWaitMs: 5 })
    await pass(20)
    abort.abort('gone')
    await pass(300)
    expect(outcomes).toEqual(['a at 80', 'b at 160: ERR_WAIT_TIMEOUT'])
    expect(spentOn(store)).toBe(1)
  })

  test('leaves once it is denied, with its first reason, and the next one tries', async () => {
    const { store, limiter, outcomes, wait, pass } = farAway(fixedWindow({ limit: 3, window: '1h' }))
    const filled = limiter.hit('ada', { cost: 2 })
    await pass(LATENCY_MS)
    await filled
    const abort = new AbortController()
    wait('a', { signal: abort.signal, cost: 2 })
    wait('b')
    await pass(20)
    abort.abort('gone')
    await pass(300)
    expect(outcomes).toEqual(['a at 160: gone', 'b at 240'])
    expect(spentOn(store)).toBe(3)
  })

  test('a caller further back leaves at once', async () => {
    const { outcomes, wait, pass } = farAway()
    const abort = new AbortController()
    wait('a')
    wait('b', { signal: abort.signal })
    await pass(20)
    abort.abort('gone')
    await pass(300)
    expect(outcomes).toEqual(['b at 20: gone', 'a at 80'])
  })
})

test('a limiter that is closed rejects all callers but the one for whom the store decides', async () => {
  for (const limit of [1, 2]) {
    const { store, limiter, outcomes, wait, pass } = farAway(fixedWindow({ limit, window: '1h' }))
    wait('a', { cost: limit })
    await pass(100)
    wait('b')
    wait('c')
    await pass(20)
    await limiter.close()
    await pass(300)
    expect(outcomes).toEqual(['a at 80', 'c at 120: ERR_CLOSED', 'b at 180: ERR_CLOSED'])
    expect(spentOn(store)).toBe(limit)
  }
})

test('units that come back while the store decides are not missed', async () => {
  const clock = fakeClock()
  // The hit that is denied is decided after 10 ms and heard of after 110; the refund is decided after 20 ms and heard of after 30.
  const late = [
    { thereMs: 10, backMs: 100 },
    { thereMs: 20, backMs: 10 },
  ]
  const store = failingStore(clock)
  const limiter = createLimiter({ rules: parseRule('1/hour'), store, failure: { timeoutMs: 60_000 }, waiting: waitingLine() })
  await limiter.hit('ada')
  store.plan = () => late.shift() ?? 'answer'
  const waiting = limiter.wait('ada', { maxWaitMs: 1000 })
  void limiter.refund('ada')
  await passSlowly(clock, 200)
  await expect(Promise.race([waiting, 'still waiting'])).resolves.toMatchObject({ allowed: true })
})

test('a random crowd: the units that the store spent are those of the callers that were served', async () => {
  const random = seededRandom()
  for (let round = 0; round < 15; round++) {
    const where = `SEED=${random.seed}, round ${round}`
    const clock = fakeClock()
    const slowest = random.pick([0, 3, 40, 200])
    const store = failingStore(clock)
    store.plan = () => ({ thereMs: random.whole(0, slowest), backMs: random.whole(0, slowest) })
    const rules = random.pick([
      gcra({ limit: 1, period: '50ms', burst: 3 }),
      fixedWindow({ limit: 5, window: '300ms' }),
      fixedWindow({ limit: 40, window: '1h' }),
    ])
    const limiter = createLimiter({ rules, store, failure: { timeoutMs: 60_000 }, waiting: waitingLine() })
    let granted = 0
    let settled = 0
    let came = 0
    for (let step = 0; step < 80; step++) {
      if (random.whole(0, 2) > 0) {
        const cost = random.whole(1, 3)
        const maxWaitMs = random.pick([0, 5, 60, 400, Number.POSITIVE_INFINITY])
        const abort = new AbortController()
        if (random.whole(0, 2) === 0) clock.after(random.whole(0, 300), () => abort.abort('gone'))
        came += 1
        limiter
          .wait(random.pick(['ada', 'bob']), { cost, maxWaitMs, signal: abort.signal })
          .then(
            () => {
              granted += cost
            },
            () => {},
          )
          .finally(() => {
            settled += 1
          })
      }
      await passSlowly(clock, random.whole(0, 12))
    }
    await limiter.close()
    await passSlowly(clock, 2 * slowest + 5)
    expect(settled, where).toBe(came)
    expect(granted, where).toBe(spentOn(store))
  }
})
