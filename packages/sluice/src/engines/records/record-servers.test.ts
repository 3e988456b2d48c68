// Records on several servers. The first letter of a key is its server.

import { expect, test } from 'vitest'
import { makeMap } from '../../../test/engines/hooked-map.ts'
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts'
import { createLimiter } from '../../create-limiter.ts'
import { compareAndSwapStore } from '../compare-and-swap.ts'

const byUser = fixedWindow({ limit: 5, window: 1000, name: 'by user', per: 'user' })
const byOrg = fixedWindow({ limit: 50, window: 3000, name: 'by org', per: 'org' })

/** A limiter over a store on servers of which `away` are away, with the names of the records that were read. */
function limiterWithout(away: ReadonlySet<string>) {
  const { options, clock, records } = makeMap()
  const reads: string[] = []
  const store = compareAndSwapStore({
    ...options,
    serverOf: (name) => name[0],
    async read(name) {
      reads.push(name)
      if (away.has(name[0])) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
      return options.read(name)
    },
  })
  const failure = { timeoutMs: 10, failures: 2, probeEveryMs: 500, then: 'deny' } as const
  const limiter = createLimiter({ rules: [byUser, byOrg], store, failure })
  return { limiter, clock, records, reads }
}

test('a record that cannot be read fails its own calls; others of the same group go on, and keep their order', async () => {
  const { limiter } = limiterWithout(new Set(['x']))
  const decisions = await Promise.all(['a1', 'x1', 'a2', 'x2', 'a1'].map((user) => limiter.hit({ user, org: 'b' })))
  expect(decisions.map(({ allowed, source }) => `${allowed} ${source}`)).toEqual([
    'true store',
    'false fallback',
    'true store',
    'false fallback',
    'true store',
  ])
  expect(await limiter.get({ user: 'a1', org: 'b' }, { rule: 'by user' })).toBe(2)
  expect(await limiter.get({ user: 'a1', org: 'b' }, { rule: 'by org' })).toBe(3)
})

test('a server that is away opens its own breaker, and no other', async () => {
  const away = new Set(['x'])
  const { limiter, reads, clock } = limiterWithout(away)
  for (let i = 0; i < 5; i++) {
    expect((await limiter.hit({ user: 'x', org: 'b' })).source).toBe('fallback')
    expect((await limiter.hit({ user: 'a', org: 'b' })).source).toBe('store')
  }
  expect(reads.filter((name) => name === 'x')).toHaveLength(2)
  expect(limiter.failures).toMatchObject({ refused: 2, 'not-asked': 3 })
  away.clear()
  clock.advance(500)
  expect((await limiter.hit({ user: 'x', org: 'b' })).source).toBe('store')
})

test('a store of one server has no parts', () => {
  expect(makeMap().store.tally([byUser]).partsOf).toBeUndefined()
})
