// Calls that still wait at their deadline: the caller gets another result, so the call must never count.

import { expect, test } from 'vitest'
import { makeMap } from '../../test/engines/hooked-map.ts'
import { toyStore } from '../../test/scripted-toy.ts'
import { createLimiter } from '../create-limiter.ts'
import { fixedWindow, type Store } from '../index.ts'
import { fakeClock } from '../testing/index.ts'
import { seededRandom } from '../testing/random.ts'
import { CallQueue } from './call-queue.ts'
import { compareAndSwapStore } from './compare-and-swap.ts'
import { transactionStore } from './transaction.ts'

const rule = fixedWindow({ limit: 5, window: '1h', name: 'requests' })
const rulesByKey = ['a', 'b'].map((per) => fixedWindow({ limit: 5, window: '1h', name: per, per }))

const turns = async (count = 5): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise(setImmediate)
}

const limiterOn = (store: Store<'async'>) =>
  createLimiter({ rules: rule, store, failure: { timeoutMs: 100, then: 'allow', failures: 1000 } })

/** A gate that is closed until `open` is called. */
function makeGate() {
  let open = (): void => {}
  const isOpen = new Promise<void>((resolve) => {
    open = resolve
  })
  return { isOpen, open }
}

/** A database whose first transaction waits for its lock until `open` is called. */
function lockedDatabase(waiting = 10_000) {
  const clock = fakeClock()
  const rows = new Map<string, Uint8Array>()
  const locked: (readonly string[])[] = []
  const gate = makeGate()
  const store = transactionStore({
    clock,
    waiting,
    async transact(names, decide) {
      locked.push(names)
      if (locked.length === 1) await gate.isOpen
      for (const { name, value } of decide(rows, clock.now())) if (value !== undefined) rows.set(name, value)
    },
  })
  return { clock, rows, locked, open: gate.open, limiter: limiterOn(store) }
}

test('a transaction that gets its lock after the deadline counts nothing for calls that left', async () => {
  const { clock, rows, locked, open, limiter } = lockedDatabase()
  const early = limiter.hit('a')
  await turns()
  const behind = limiter.hit('a')
  await turns()
  clock.advance(90)
  const patient = limiter.hit('a')
  await turns()
  clock.advance(10)
  for (const decision of [await early, await behind]) expect(decision.failure).toEqual({ reason: 'refused', then: 'allow' })
  open()
  expect(await patient).toMatchObject({ source: 'store', remaining: 4 })
  expect(locked, 'the call in the queue is not sent alone').toHaveLength(2)
  expect(rows.size).toBe(1)
  expect(limiter.failures).toMatchObject({ refused: 2, timeout: 0 })
})

test('a call that was decided before its deadline may have counted: the reason is the timeout', async () => {
  const clock = fakeClock()
  const store = transactionStore({
    clock,
    async transact(_names, decide) {
      decide(new Map(), clock.now())
      await new Promise(() => {})
    },
  })
  const hit = limiterOn(store).hit('a')
  await turns()
  clock.advance(100)
  expect((await hit).failure).toEqual({ reason: 'timeout', then: 'allow' })
})

test('the error of a dropped call says that it was not counted', async () => {
  const clock = fakeClock()
  const store = transactionStore({ clock, transact: () => new Promise(() => {}) })
  const hit = createLimiter({ rules: rule, store, failure: { timeoutMs: 100 } }).hit('a')
  await turns()
  clock.advance(100)
  await expect(hit).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
})

test('calls that left take no space in a full queue', async () => {
  const { clock, open, limiter } = lockedDatabase(3)
  void limiter.hit('a')
  await turns()
  const late = [limiter.hit('a'), limiter.hit('a'), limiter.hit('a')]
  await turns()
  clock.advance(100)
  await Promise.all(late)
  expect(await limiter.hit('b')).toMatchObject({ source: 'store', remaining: 4 })
  const next = limiter.hit('a')
  await turns()
  open()
  expect(await next).toMatchObject({ source: 'store', remaining: 4 })
})

test('a queue drops calls whose askers left, settles them, and still runs those that were held behind them', async () => {
  const ran: string[] = []
  const gate = makeGate()
  const rejected: string[] = []
  const call = (id: string, names: readonly string[], hasLeft = false) => ({
    id,
    names,
    asker: { hasLeft, isUncounted: true },
    reject: ({ code }: { code: string }) => rejected.push(`${id}: ${code}`),
  })
  const bounds = { calls: 9, rows: 9, groups: 9, waiting: 3, together: 'any' } as const
  const queue = new CallQueue<ReturnType<typeof call>>(bounds, async (group) => {
    ran.push(group.map(({ id }) => id).join())
    if (ran.length === 1) await gate.isOpen
  })
  queue.add([call('first', ['hot'])])
  const leaves = call('leaves', ['hot', 'other'])
  queue.add([leaves, call('behind', ['other'])])
  leaves.asker.hasLeft = true
  queue.add([call('left before', ['x'], true)])
  expect(queue.add([call('stays', ['hot']), call('too many', ['hot']), call('no space', ['hot'])])).toHaveLength(1)
  expect(rejected).toEqual(['left before: ERR_STORE_REFUSED', 'leaves: ERR_STORE_REFUSED'])
  gate.open()
  await queue.idle()
  expect(ran).toEqual(['first', 'behind,stays,too many'])
})

test.each(['any', 'connected'] as const)(
  'every call runs, in order on each row, or is dropped because it left: %s',
  async (together) => {
    const random = seededRandom()
    const calls = Array.from({ length: 2000 }, (_, id) => ({
      id,
      names: [...new Set(Array.from({ length: random.whole(1, 3) }, () => random.pick([...'abcdefgh'])))],
      asker: { hasLeft: false, isUncounted: true },
      outcome: '',
      reject(): void {
        this.outcome += 'dropped'
      },
    }))
    const done = new Map<string, number[]>()
    const bounds = { calls: random.whole(1, 8), rows: 9, groups: random.whole(1, 5), waiting: random.whole(5, 60), together }
    const queue = new CallQueue<(typeof calls)[number]>(bounds, async (group) => {
      for (const call of group) {
        expect(call.asker.hasLeft, `SEED=${random.seed}, call ${call.id}`).toBe(false)
        call.outcome += 'ran'
        for (const name of call.names) done.set(name, [...(done.get(name) ?? []), call.id])
      }
      await turns(random.whole(0, 3))
    })
    for (const call of calls) {
      for (const refused of queue.add([call])) refused.outcome += 'refused'
      for (let leaving = random.whole(0, 2); leaving > 0; leaving--) {
        const leaver = calls[random.whole(Math.max(0, call.id - 30), call.id)]
        if (leaver.outcome === '') leaver.asker.hasLeft = true
      }
      if (random.whole(0, 5) === 0) await turns(1)
    }
    await queue.idle()
    for (const { id, outcome } of calls) expect(outcome, `SEED=${random.seed}, call ${id}`).toMatch(/^(ran|dropped|refused)$/)
    for (const ids of done.values()) expect(ids, `SEED=${random.seed}`).toEqual([...ids].sort((a, b) => a - b))
    expect(new Set(calls.map(({ outcome }) => outcome)).size).toBeGreaterThan(1)
  },
)

test('a record that is read after the deadline is not written', async () => {
  const { options, clock, records, counts } = makeMap()
  const gate = makeGate()
  const limiter = limiterOn(
    compareAndSwapStore({
      ...options,
      async read(name) {
        await gate.isOpen
        return options.read(name)
      },
    }),
  )
  const hits = [limiter.hit('a')]
  await turns()
  hits.push(limiter.hit('a'))
  await turns()
  clock.advance(100)
  for (const { failure } of await Promise.all(hits)) expect(failure).toEqual({ reason: 'refused', then: 'allow' })
  gate.open()
  await turns()
  expect(records.size).toBe(0)
  expect(counts, 'the second call reads nothing').toEqual({ reads: 1, swaps: 0 })
})

test('a call whose swap comes too late is not decided again after its deadline', async () => {
  const { store, other, clock, counts, hooks } = makeMap()
  const theirs = createLimiter({ rules: rule, store: other })
  const limiter = limiterOn(store)
  hooks.beforeSwap = async () => {
    hooks.beforeSwap = undefined
    await theirs.hit('a')
    clock.advance(100)
  }
  expect((await limiter.hit('a')).failure).toEqual({ reason: 'timeout', then: 'allow' })
  await turns()
  expect(counts.swaps).toBe(1)
  expect(await theirs.get('a')).toBe(1)
})

test('a script gets no call whose deadline has passed', async () => {
  const clock = fakeClock()
  const sent: string[] = []
  const before = (_part: string, calls: readonly { readonly charges: readonly { readonly key: string }[] }[]): void => {
    for (const { charges } of calls) sent.push(charges[0].key)
  }
  const limiter = limiterOn(toyStore({ clock, before }))
  const late = limiter.hit('late')
  clock.advance(100)
  const inTime = limiter.hit('in time')
  expect((await late).failure).toEqual({ reason: 'refused', then: 'allow' })
  expect((await inTime).source).toBe('store')
  expect(sent).toEqual(['in time'])
})

test.each([
  ['while its parts are peeked at', 'peek', 'refused'],
  ['between two parts', 'timedHit', 'timeout'],
] as const)('a hit in several parts counts nothing if its deadline passes %s', async (_, operation, reason) => {
  const clock = fakeClock()
  let isFirst = true
  const after = (_part: string, calls: readonly { readonly operation: string }[]): void => {
    if (!isFirst || calls[0].operation !== operation) return
    isFirst = false
    clock.advance(100)
  }
  const store = toyStore({ clock, partOf: (key) => key, after })
  const limiter = createLimiter({ rules: rulesByKey, store, failure: { timeoutMs: 100, then: 'allow' } })
  const subject = { a: '1', b: '2' }
  expect((await limiter.hit(subject)).failure?.reason).toBe(reason)
  await turns()
  expect(await limiter.get(subject, { rule: 'a' })).toBe(0)
  expect(await limiter.get(subject, { rule: 'b' })).toBe(0)
})
