// Several keys in one decision: rules with `per`, keys that are objects, costs by rule.

import { describe, expect, test } from 'vitest'
import { limitedHandler } from '../../../test/middleware/limited-handler.ts'
import { promiseStore } from '../../../test/promise-store.ts'
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts'
import { tokenBucket } from '../../algorithms/token-bucket/token-bucket.ts'
import { createLimiter } from '../../create-limiter.ts'
import { legacyStyle } from '../../http/earlier-styles.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { fetchLimiter } from '../fetch.ts'
import { chargeByResponse } from '../requests.ts'

const rules = [
  tokenBucket({ capacity: 5, refill: 1, every: '1m', name: 'guesses', per: 'address' }),
  fixedWindow({ limit: 2, window: '1h', name: 'account', per: 'account' }),
]

const key = ({ headers }: Request, { address }: { readonly address: { readonly key: string } }) => ({
  address: address.key,
  account: headers.get('account') ?? '',
})

describe('an object of keys', () => {
  test.each([
    ['in memory', () => memoryStore({ clock: fakeClock() })],
    ['behind promises', () => promiseStore(fakeClock())],
  ])('a request that one rule denies costs nothing of the other, %s', async (_, store) => {
    const { field } = limitedHandler({ rules, key, store: store() })
    await field({ account: 'ada' })
    await field({ account: 'ada' })
    for (let i = 0; i < 9; i++) expect(await field({ account: 'ada' })).toBe('"guesses";r=3;t=120, "account";r=0;t=3600')
    expect(await field({ account: 'bob' })).toBe('"guesses";r=2;t=180, "account";r=1;t=3600')
  })

  test('if several rules deny, the response is about the one with the longest wait', async () => {
    const { ask } = limitedHandler({
      rules: [
        fixedWindow({ limit: 1, window: '1m', name: 'short', per: 'address' }),
        fixedWindow({ limit: 1, window: '1h', name: 'long', per: [] }),
      ],
    })
    await ask()
    const denied = await ask()
    expect(denied.headers.get('Retry-After')).toBe('3600')
    expect((await denied.json())['violated-policies']).toEqual(['short', 'long'])
  })

  test('legacy fields are those of the rule with the fewest units left', async () => {
    const { ask } = limitedHandler({ rules, key, headers: legacyStyle })
    expect((await ask({ account: 'ada' })).headers.get('X-RateLimit-Limit')).toBe('2')
  })

  test('callbacks are given the object', async () => {
    const keys: unknown[] = []
    const { ask } = limitedHandler({ rules, key, onDecision: (context) => keys.push(context.key) })
    await ask({ account: 'ada' })
    expect(keys).toEqual([{ address: '203.0.113.9', account: 'ada' }])
  })

  test.each([
    ['a value is empty', { address: 'a', account: '' }],
    ['a name is missing', { address: 'a' }],
    ['there is a name too many', { address: 'a', account: 'ada', user: 'ada' }],
    ['it is a string', 'ada'],
  ])('ERR_KEY if %s, and nothing is counted', (_, subject) => {
    const limiter = createLimiter({ rules })
    const { ask } = limitedHandler({ limiter, key: () => subject as never })
    expect(() => ask()).toThrow(expect.objectContaining({ code: 'ERR_KEY' }))
    expect(limiter.get({ address: 'a', account: 'ada' })).toBe(0)
  })
})

describe('without key', () => {
  const limit = { limit: 3, window: '1m' } as const

  test('rules per address count by the client’s address', async () => {
    const store = memoryStore({ clock: fakeClock() })
    const rule = fixedWindow({ ...limit, name: 'address', per: 'address' })
    await limitedHandler({ rules: rule, store }).ask()
    expect(createLimiter({ rules: rule, store }).get({ address: '203.0.113.9' })).toBe(1)
  })

  test('rules per nothing count everybody, and the address is not read', async () => {
    const { field } = limitedHandler({
      rules: fixedWindow({ ...limit, name: 'everybody', per: [] }),
      peer: () => {
        throw new Error('read')
      },
    })
    expect([await field(), await field()]).toEqual(['"everybody";r=2;t=60', '"everybody";r=1;t=60'])
  })

  test('rules per anything else are refused when the middleware is made', () => {
    const rule = fixedWindow({ ...limit, per: ['address', 'user'] })
    expect(() => limitedHandler({ rules: rule })).toThrow(
      'fetchLimiter needs key to return { address, user }, the names that its rules count by',
    )
    expect(() => limitedHandler({ limiter: createLimiter({ rules: rule }) })).toThrow(expect.objectContaining({ option: 'key' }))
  })
})

describe('costs by rule', () => {
  const costly = { rules, key, headers: 'draft-10' } as const

  test('are charged rule by rule; a rule that is not named costs 1, one that costs 0 is not asked', async () => {
    const { field } = limitedHandler({
      ...costly,
      cost: ({ headers }) => JSON.parse(headers.get('cost') ?? '1'),
    })
    const spend = (cost: unknown) => field({ account: 'ada', cost: JSON.stringify(cost) })
    expect(await spend({ guesses: 3 })).toBe('"guesses";r=2;t=180, "account";r=1;t=3600')
    expect(await spend({ account: 0 })).toBe('"guesses";r=1;t=240')
    expect(await spend({ guesses: 0, account: 1 })).toBe('"account";r=0;t=3600')
    expect(await spend({ guesses: 1, account: 0 })).toBe('"guesses";r=0;t=300')
  })

  test('a cost above one limit denies, though every rule has units left', async () => {
    const { ask } = limitedHandler({ ...costly, cost: () => ({ account: 3 }) })
    const denied = await ask({ account: 'ada' })
    expect(denied.status).toBe(429)
    expect((await denied.json())['violated-policies']).toEqual(['account'])
  })

  test('a cost that cannot be is refused before anything is charged', async () => {
    let cost: unknown = -1
    const { ask, field } = limitedHandler({ ...costly, cost: () => cost as number })
    for (cost of [-1, undefined, null, { account: -1 }, { account: 0, guesses: 0 }]) {
      expect(() => ask({ account: 'ada' })).toThrow(expect.objectContaining({ code: 'ERR_COST' }))
    }
    cost = 1
    expect(await field({ account: 'ada' })).toBe('"guesses";r=4;t=60, "account";r=1;t=3600')
  })

  test('are given back rule by rule if the response is not charged', async () => {
    const { field, clock } = limitedHandler({
      ...costly,
      cost: { guesses: 3, account: 2 },
      charge: chargeByResponse('failed-response'),
    })
    for (let i = 0; i < 3; i++) expect(await field({ account: 'ada' })).toBe('"guesses";r=2;t=180, "account";r=0;t=3600')
    clock.advance(1)
    expect(await field({ account: 'ada' })).toBe('"guesses";r=2;t=180, "account";r=0;t=3600')
  })
})

describe('rules that another limiter has counted', () => {
  const named = (name: string) => fixedWindow({ limit: 5, window: '1m', name })

  /** The answer to a request that passes a limiter with the rule a, and then one with a and b. */
  const throughBoth = async (cost: () => unknown) => {
    const shared = { store: memoryStore({ clock: fakeClock() }), key: () => 'ada', warn() {} }
    const outer = fetchLimiter({ ...shared, rules: named('a') })
    const inner = fetchLimiter({ ...shared, rules: [named('a'), named('b')], cost: cost as () => number })
    return outer(inner(() => new Response()))(new Request('http://localhost/'))
  }

  test('a rule that costs nothing is not asked, also if it is the only one left', async () => {
    expect((await throughBoth(() => ({ b: 0 }))).headers.get('RateLimit')).toBe('"a";r=4;t=60')
  })

  test('a cost that is none is refused as ever', async () => {
    await expect(throughBoth(() => Promise.resolve(null))).rejects.toMatchObject({ code: 'ERR_COST' })
  })
})
