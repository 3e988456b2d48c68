import { describe, expect, test } from 'vitest'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { createLimiter } from '../create-limiter.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { type CompareAndSwapOptions, compareAndSwapStore } from './compare-and-swap.ts'
import { decodeRecord } from './record.ts'
import type { Change } from './working-states.ts'

const rule = fixedWindow({ limit: 5, window: 1000, name: 'requests' })
const second = fixedWindow({ limit: 9, window: 3000, name: 'second' })
const byUser = fixedWindow({ limit: 5, window: 1000, name: 'by user', per: 'user' })
const byOrg = fixedWindow({ limit: 5, window: 3000, name: 'by org', per: 'org' })
/** The record of the user comes before that of the organisation. */
const ada = { user: 'a', org: 'z' }

/** A map with versions. `beforeSwap` runs before each swap, as another process might. */
function makeMap() {
  const clock = fakeClock()
  const records = new Map<string, { readonly value: Uint8Array; readonly version: number; readonly endsAt: number }>()
  const counts = { reads: 0, swaps: 0 }
  const hooks: { beforeSwap?: ((change: Change) => Promise<void> | void) | undefined } = {}
  let version = 0
  const options: CompareAndSwapOptions<number> = {
    clock,
    now: () => clock.now(),
    async read(name) {
      counts.reads += 1
      return records.get(name)
    },
    async swap(change, expected) {
      counts.swaps += 1
      await hooks.beforeSwap?.(change)
      const { name, value, endsAt } = change
      if (records.get(name)?.version !== expected) return false
      if (value === undefined) records.delete(name)
      else records.set(name, { value, endsAt, version: ++version })
      return true
    },
  }
  /** A store as another process has it: without the hook. */
  const other = compareAndSwapStore<number>({
    ...options,
    async swap({ name, value, endsAt }, expected) {
      if (records.get(name)?.version !== expected) return false
      if (value === undefined) records.delete(name)
      else records.set(name, { value, endsAt, version: ++version })
      return true
    },
  })
  return { clock, records, counts, hooks, options, other, store: compareAndSwapStore(options) }
}

describe('one record', () => {
  test('calls of a turn on one key share a read and a swap, and keep their order', async () => {
    const { store, counts } = makeMap()
    const limiter = createLimiter({ rules: [rule, second], store })
    const asked = [limiter.hit('a'), limiter.hit('a'), limiter.get('a'), limiter.reset('a'), limiter.hit('a')]
    const [, , used, , last] = await Promise.all(asked)
    expect(used).toBe(2)
    expect(last).toMatchObject({ remaining: 4 })
    expect(counts).toEqual({ reads: 1, swaps: 1 })
  })

  test('calls that come while a swap is under way go into the next one', async () => {
    const { store, counts, hooks } = makeMap()
    const limiter = createLimiter({ rules: rule, store })
    const more: Promise<unknown>[] = []
    hooks.beforeSwap = () => {
      hooks.beforeSwap = undefined
      for (let i = 0; i < 3; i++) more.push(limiter.hit('a'))
    }
    await limiter.hit('a')
    await Promise.all(more)
    expect(counts).toEqual({ reads: 2, swaps: 2 })
    expect(await limiter.get('a')).toBe(4)
  })

  test('what nobody changes is not written', async () => {
    const { store, counts } = makeMap()
    const limiter = createLimiter({ rules: rule, store })
    await limiter.hit('a', { cost: 5 })
    await limiter.hit('a')
    await limiter.peek('a')
    await limiter.reset('b')
    expect(counts.swaps).toBe(1)
  })

  test('a record ends with its last state, keeps no ended states of other rules, and goes with its last one', async () => {
    const { store, records, clock } = makeMap()
    const one = createLimiter({ rules: rule, store })
    const two = createLimiter({ rules: second, store })
    await one.hit('a')
    await two.hit('a')
    expect(records.get('a')?.endsAt).toBe(clock.now() + 3000)
    clock.advance(1000)
    await two.hit('a')
    const kept = records.get('a')
    expect(kept && [...decodeRecord(kept.value, 'a').keys()]).toEqual(['fixed-window%0000second'])
    await two.reset('a')
    expect(records.size).toBe(0)
  })

  test('somebody who writes first is seen', async () => {
    const { store, hooks, other } = makeMap()
    const limiter = createLimiter({ rules: rule, store })
    const theirs = createLimiter({ rules: rule, store: other })
    hooks.beforeSwap = async () => {
      hooks.beforeSwap = undefined
      await theirs.hit('a', { cost: 5 })
    }
    expect((await limiter.hit('a')).allowed).toBe(false)
    expect(await limiter.get('a')).toBe(5)
  })

  test('a call that was denied may be allowed on a fresh record, and is charged once', async () => {
    const { store, hooks, other } = makeMap()
    const limiter = createLimiter({ rules: rule, store })
    await limiter.hit('a')
    hooks.beforeSwap = async () => {
      hooks.beforeSwap = undefined
      await createLimiter({ rules: rule, store: other }).reset('a')
    }
    const [decision] = await Promise.all([limiter.hit('a', { cost: 5 }), limiter.inc('a')])
    expect(decision.allowed).toBe(true)
    expect(await limiter.get('a')).toBe(6)
  })

  test('attempts are bounded, with random pauses between them, and then it is refused', async () => {
    const { options, counts, hooks, other, clock } = makeMap()
    const pauses: number[] = []
    const after = (delayMs: number, callback: () => void): (() => void) => {
      if (delayMs >= 10_000) return () => {}
      pauses.push(delayMs)
      setImmediate(callback)
      return () => {}
    }
    const store = compareAndSwapStore({ ...options, attempts: 8, random: () => 0.99, clock: { now: clock.now, after } })
    const theirs = other.tally([rule])
    hooks.beforeSwap = async () => {
      await theirs.ask({ operation: 'inc', charges: [{ rule: 0, key: 'a', amount: 1 }] })
    }
    const asked = store.tally([rule]).ask({ operation: 'inc', charges: [{ rule: 0, key: 'a', amount: 1 }] })
    await expect(asked).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    expect(counts.swaps).toBe(8)
    expect(pauses).toEqual([7, 15, 31, 63, 63, 63])
  })

  test('a damaged record is refused by its name, and reset forgets it', async () => {
    const { store, records } = makeMap()
    const limiter = createLimiter({ rules: rule, store })
    await limiter.hit('bad')
    const kept = records.get('bad')
    if (kept !== undefined) records.set('bad', { ...kept, value: kept.value.subarray(0, 20) })
    await expect(limiter.hit('bad')).rejects.toMatchObject({ code: 'ERR_STORE_FATAL', value: 'bad' })
    await limiter.reset('bad')
    expect((await limiter.hit('bad')).remaining).toBe(4)
  })

  test('errors of a read are refused, and those of a swap unknown', async () => {
    const ask = (options: Partial<CompareAndSwapOptions<number>>) =>
      compareAndSwapStore({ ...makeMap().options, ...options })
        .tally([rule])
        .ask({ operation: 'hit', charges: [{ rule: 0, key: 'a', amount: 1 }] })
    const fail = async () => Promise.reject(new Error('gone'))
    await expect(ask({ read: fail })).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    await expect(ask({ now: fail })).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    await expect(ask({ swap: fail })).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
    await expect(ask({ swap: fail, sortError: () => 'refused' })).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    await expect(ask({ now: () => Number.NaN })).rejects.toMatchObject({ code: 'ERR_STORE_FATAL' })
  })
})

describe('several records', () => {
  /** A limiter by user and organisation, and another process that fills the organisation before its record is swapped. */
  function contested(meanwhile?: (map: ReturnType<typeof makeMap>) => Promise<void>) {
    const map = makeMap()
    const limiter = createLimiter({ rules: [byUser, byOrg], store: map.store })
    const theirs = createLimiter({ rules: [byOrg], store: map.other })
    const theirUsers = createLimiter({ rules: [byUser], store: map.other })
    map.hooks.beforeSwap = async ({ name }) => {
      if (name !== 'z') return
      map.hooks.beforeSwap = undefined
      // The swap of the user's record goes on beside this one.
      await new Promise(setImmediate)
      await theirs.hit({ org: 'z' }, { cost: 5 })
      await meanwhile?.(map)
    }
    const used = async (): Promise<readonly number[]> => [
      await limiter.get(ada, { rule: 'by user' }),
      await limiter.get(ada, { rule: 'by org' }),
    ]
    return { ...map, limiter, theirUsers, used }
  }

  test('hits that a later key denies are given back, to the last cell', async () => {
    const { limiter, used, records } = contested()
    for (const decision of await Promise.all([limiter.hit(ada, { cost: 2 }), limiter.hit(ada)])) {
      expect(decision).toMatchObject({ allowed: false, rule: 'by org' })
    }
    expect(await used()).toEqual([0, 5])
    expect(records.has('a')).toBe(false)
  })

  test('units that others charged meanwhile stay', async () => {
    const { limiter, used } = contested(async ({ other }) => {
      await createLimiter({ rules: [byUser], store: other }).hit({ user: 'a' }, { cost: 3 })
    })
    expect((await limiter.hit(ada, { cost: 2 })).allowed).toBe(false)
    expect(await used()).toEqual([3, 5])
  })

  test('nothing is taken from a window that began after the charge', async () => {
    const { limiter, used } = contested(async ({ other, clock }) => {
      // Set, not advanced: the deadline of the call does not come nearer.
      clock.set(clock.now() + 1000)
      await createLimiter({ rules: [byUser], store: other }).hit({ user: 'a' }, { cost: 3 })
    })
    expect((await limiter.hit(ada, { cost: 2 })).allowed).toBe(false)
    expect(await used()).toEqual([3, 5])
  })

  test('a key that fails for sure leaves nothing charged', async () => {
    const { options, store: watcher } = makeMap()
    const swap = async (change: Change, version: number | undefined): Promise<boolean> => {
      if (change.name === 'z') throw Object.assign(new Error('x'), { code: 'ECONNREFUSED' })
      return options.swap(change, version)
    }
    const rules = [byUser, byOrg] as const
    const asked = compareAndSwapStore({ ...options, swap })
      .tally(rules)
      .ask({
        operation: 'hit',
        charges: [
          { rule: 0, key: 'a', amount: 2 },
          { rule: 1, key: 'z', amount: 2 },
        ],
      })
    await expect(asked).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    const limiter = createLimiter({ rules, store: watcher })
    for (const { name } of rules) expect(await limiter.get(ada, { rule: name })).toBe(0)
  })

  test.each(['hit', 'refund', 'reset'] as const)('a store that dies between two keys is unknown: %s', async (operation) => {
    const { options, store: watcher } = makeMap()
    const rules = [byUser, byOrg] as const
    await createLimiter({ rules, store: watcher }).hit(ada, { cost: 3 })
    let isDead = false
    const swap = async (change: Change, version: number | undefined): Promise<boolean> => {
      if (isDead || change.name === 'z') throw Object.assign(new Error('x'), { code: 'ECONNREFUSED' })
      const isSwapped = await options.swap(change, version)
      isDead = true
      return isSwapped
    }
    const asked = compareAndSwapStore({ ...options, swap })
      .tally(rules)
      .ask({
        operation,
        charges: [
          { rule: 0, key: 'a', amount: 2 },
          { rule: 1, key: 'z', amount: 2 },
        ],
      })
    await expect(asked).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
  })

  test('calls of a turn that share a key are read at once, and one process does not race with itself', async () => {
    const { store, counts } = makeMap()
    const limiter = createLimiter({ rules: [byUser, byOrg], store })
    const decisions = await Promise.all(['a', 'b', 'c', 'a', 'b', 'c'].map((user) => limiter.hit({ user, org: 'z' })))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5)
    expect(counts).toEqual({ reads: 4, swaps: 4 })
  })
})
