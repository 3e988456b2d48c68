// States move between the nodes of a store while its map is old. A node answers MOVED for states that it does not have.

import { describe, expect, test } from 'vitest'
import { type ToyCall, toyStore } from '../../test/scripted-toy.ts'
import { createLimiter, fixedWindow } from '../index.ts'
import { fakeClock, storeSuite } from '../testing/index.ts'

const ofUser = fixedWindow({ limit: 5, window: '1m', name: 'user', per: 'user' })
const ofOrg = fixedWindow({ limit: 3, window: '1m', name: 'org', per: 'org' })
const ofRoute = fixedWindow({ limit: 9, window: '1m', name: 'route', per: 'route' })

/** A toy with a slot for each key, on nodes. `map` is what the store knows, and `nodes` is the truth. */
function movingStore(map: Record<string, string>, nodes: Record<string, string>, fallbackNode = 'north') {
  const clock = fakeClock()
  const commands: string[] = []
  const slotOf = (key: string) => `slot ${key}`
  const store = toyStore({
    clock,
    partOf: (key) => map[key] ?? fallbackNode,
    exactPartOf: slotOf,
    isIn: (part, key) => part === slotOf(key) || part === (nodes[key] ?? fallbackNode),
    before: (part, calls: readonly ToyCall[]) =>
      commands.push(
        `${part}: ${calls.map(({ operation, charges }) => `${operation} ${charges.map(({ key }) => key).join('+')}`).join(', ')}`,
      ),
  })
  return { clock, commands, store }
}

const call = (operation: 'hit' | 'peek' | 'refund' | 'reset', ...keys: string[]) =>
  ({ operation, charges: keys.map((key, rule) => ({ rule, key, amount: 1 })) }) as const

describe('a call whose states have moved', () => {
  test('is asked again alone, by its slot, and counts once', async () => {
    const { store, commands } = movingStore({}, { bob: 'south' })
    const tally = store.tally([ofUser])
    const hits = ['ada', 'bob', 'eve', 'bob'].map((key) => tally.ask(call('hit', key)))
    expect((await Promise.all(hits)).map(([used]) => used)).toEqual([1, 1, 1, 2])
    expect(commands).toEqual(['north: hit ada, hit bob, hit eve, hit bob', 'slot bob: hit bob, hit bob'])
  })

  test('is split anew: its charges may be on several nodes now', async () => {
    const { store, commands } = movingStore({}, { acme: 'south' })
    const tally = store.tally([ofUser, ofOrg])
    expect((await tally.ask(call('hit', 'ada', 'acme'))).slice(0, 2)).toEqual([1, 0])
    expect(commands).toEqual([
      'north: hit ada+acme',
      'slot acme: peek acme',
      'slot ada: peek ada',
      'slot acme: timedHit acme',
      'slot ada: timedHit ada',
    ])
    const three = [await tally.ask(call('hit', 'ada', 'acme')), await tally.ask(call('hit', 'eve', 'acme'))]
    expect(three.map((figures) => figures[1] + figures[4])).toEqual([0, 0])
    const denied = await tally.ask(call('hit', 'bob', 'acme'))
    expect([denied[0], denied[3]]).toEqual([0, 3])
    expect(await tally.ask(call('peek', 'ada', 'acme'))).toEqual([2, 0, 60_000, 3, 60_000, 60_000])
    await tally.ask(call('refund', 'ada', 'acme'))
    expect(await tally.ask(call('peek', 'ada', 'acme'))).toEqual([1, 0, 60_000, 2, 0, 60_000])
    await tally.ask(call('reset', 'ada', 'acme'))
    expect(await tally.ask(call('peek', 'ada', 'acme'))).toEqual([0, 0, 0, 0, 0, 0])
  })

  test('one part of a hit that falls into several is refused, and what was charged is given back', async () => {
    const map: Record<string, string> = { search: 'a south' }
    const nodes: Record<string, string> = { ...map }
    const { store, commands } = movingStore(map, nodes)
    const tally = store.tally([ofUser, ofOrg, ofRoute])
    // The states move between the peek and the charge.
    const hit = tally.ask(call('hit', 'ada', 'acme', 'search'))
    while (commands.length === 0) await Promise.resolve()
    nodes.acme = 'west'
    await expect(hit).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    expect(commands.at(-1)).toBe('a south: refund search')
    expect((await tally.ask(call('peek', 'ada', 'acme', 'search'))).filter((_, i) => i % 3 === 0)).toEqual([0, 0, 0])
    // A limiter asks again, by the new map.
    const limiter = createLimiter({ rules: [ofUser, ofOrg, ofRoute], store })
    map.acme = 'west'
    expect(await limiter.hit({ user: 'ada', org: 'acme', route: 'search' })).toMatchObject({ allowed: true, remaining: 2 })
  })

  test('is dropped if its asker has left meanwhile, and counts for nobody', async () => {
    const asker = { hasLeft: false, isUncounted: false }
    const { store, commands } = movingStore({}, { bob: 'south' })
    const tally = store.tally([ofUser])
    const late = tally.ask(call('hit', 'bob'), asker)
    await new Promise(setImmediate)
    asker.hasLeft = true
    await expect(late).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    expect(asker.isUncounted).toBe(true)
    expect(commands).toEqual(['north: hit bob'])
    expect((await tally.ask(call('peek', 'bob')))[0]).toBe(0)
  })

  test('is refused if a slot answers so too, and without slots', async () => {
    const clock = fakeClock()
    for (const exactPartOf of [undefined, (key: string) => `slot ${key}`]) {
      const options = { clock, partOf: () => 'north', isIn: () => false, ...(exactPartOf && { exactPartOf }) }
      const tally = toyStore(options).tally([ofUser])
      await expect(tally.ask(call('hit', 'ada'))).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
    }
  })
})

/** Half of the keys are somewhere else than the store thinks. */
const isStale = (key: string) => key.length % 2 === 0

storeSuite(
  'a toy whose map is wrong about half of the keys',
  (clock) =>
    toyStore({
      clock,
      partOf: () => 'north',
      exactPartOf: (key) => key,
      isIn: (part, key) => part === key || !isStale(key),
    }),
  { steps: 300, decidesInParts: true },
)
