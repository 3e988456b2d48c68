import { describe, expect, test } from 'vitest'
import { makeMap } from '../../../test/engines/hooked-map.ts'
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts'
import { createLimiter } from '../../create-limiter.ts'
import { compareAndSwapStore } from '../compare-and-swap.ts'
import type { Change } from '../working-states.ts'

const byUser = fixedWindow({ limit: 5, window: 1000, name: 'by user', per: 'user' })
const byOrg = fixedWindow({ limit: 5, window: 3000, name: 'by org', per: 'org' })
/** The record of the user comes before that of the organisation. */
const ada = { user: 'a', org: 'z' }

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
