// The tests of the store suite about holds: walks against the definition and against a ledger, and the promises of `reserve`.

import { calendarWindow } from '../algorithms/calendar-window/calendar-window.ts'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { slidingLog } from '../algorithms/sliding-log/sliding-log.ts'
import { slidingWindow } from '../algorithms/sliding-window/sliding-window.ts'
import { tokenBucket } from '../algorithms/token-bucket/token-bucket.ts'
import type { ReserveOptions } from '../core/reserving.ts'
import type { Rule } from '../core/rule.ts'
import type { Store, Tally } from '../core/store.ts'
import type { Subject } from '../core/subject.ts'
import { createLimiter } from '../create-limiter.ts'
import { holds } from '../holds/holds.ts'
import { prepareHolds } from '../stores/memory/held-rows.ts'
import { definitionStore } from './definition-store.ts'
import { everyRule, exampleRule } from './example-rules.ts'
import type { FakeClock } from './fake-clock.ts'
import { holdWalk } from './hold-walk.ts'
import { ledgerWalk } from './ledger-walk.ts'
import { seededRandom } from './random.ts'
import { equal, refused, type SuiteTools } from './suite-tools.ts'
import type { AnyLimiter } from './walk.ts'

/** Rules that give nothing back while a test lasts. */
const SLOW: readonly Rule[] = [
  fixedWindow({ limit: 50, window: '365d' }),
  slidingLog({ limit: 50, window: '365d' }),
  slidingWindow({ limit: 50, window: '365d' }),
  tokenBucket({ capacity: 50, refill: 50, every: '365d' }),
]

const requests = fixedWindow({ limit: 5, window: 1000, name: 'requests' })
const tokens = slidingLog({ limit: 100, window: 1000, name: 'tokens' })

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const daily = calendarWindow({ limit: 5, every: 'day' })

/** Defines the tests about holds. */
export function holdTests(tools: SuiteTools): void {
  const { steps, seed, decidesInParts } = tools.options

  const walkTest = (title: string, rules: readonly Rule[], isOneKey: boolean, length: number): void => {
    tools.storeTest(title, async (store, clock) => {
      const tested = tallyOf(store, rules)
      const defined = definitionStore(clock).tally(rules)
      const inParts = decidesInParts && !isOneKey
      await holdWalk({ tested, defined, rules, clock, random: seededRandom(seed), steps: length, isOneKey, inParts })
    })
  }

  tools.describe('holds units as the definition does', () => {
    const places = exampleRule('concurrency')
    for (const rule of [...everyRule(), places]) walkTest(rule.name, [rule], true, Math.ceil(steps / 8))
    const some = [exampleRule('sliding-log'), exampleRule('fixed-window', 'counting denied'), exampleRule('gcra'), places]
    walkTest('on several rules of one key', some, true, Math.ceil(steps / 2))
    walkTest(
      'on several keys',
      [exampleRule('fixed-window'), exampleRule('sliding-window'), ...some],
      false,
      Math.ceil(steps / 2),
    )
  })

  tools.describe('charges what was settled, and nothing else', () => {
    for (const rule of SLOW) {
      tools.storeTest(rule.name, async (store, clock) => {
        await ledgerWalk({ tally: tallyOf(store, [rule]), rule, clock, random: seededRandom(seed), steps: Math.ceil(steps / 8) })
      })
    }
  })

  const reserveTest = (title: string, rules: readonly Rule[], body: (limiter: AnyLimiter, clock: FakeClock) => Promise<void>) =>
    tools.storeTest(title, async (store, clock) => {
      const limiter: AnyLimiter = createLimiter({ rules, store, holds: holds({ most: 20 }) })
      await body(limiter, clock)
      await limiter.close()
    })

  tools.describe('keeps the promises of reserve', () => {
    reserveTest('what is held cannot be spent, and what was not used is free again', [requests, tokens], async (limiter) => {
      const hold = await limiter.reserve('k', { hold: { tokens: 60 } })
      equal('allowed', hold.allowed, true)
      equal('granted', hold.granted.tokens, 60)
      equal('requests', await limiter.get('k', { rule: 'requests' }), 1)
      equal('tokens', await limiter.get('k', { rule: 'tokens' }), 60)
      equal('another', (await limiter.reserve('k', { hold: { tokens: 41 } })).allowed, false)
      equal('requests after a denial', await limiter.get('k', { rule: 'requests' }), 1)
      equal('a hit', (await limiter.hit('k', { cost: { requests: 1, tokens: 41 } })).allowed, false)
      await hold.settle({ tokens: 12 })
      equal('tokens after it', await limiter.get('k', { rule: 'tokens' }), 12)
      await refused('a second settle', async () => hold.settle())
      equal('tokens at the end', await limiter.get('k', { rule: 'tokens' }), 12)
    })

    // A store that runs a translation knows three windows. The hold ended before the first of them, and its state is still there.
    reserveTest('a hold that expired in a calendar window of long ago is not charged now', [daily], async (limiter, clock) => {
      clock.advance(DAY_MS - (clock.now() % DAY_MS) + 10 * HOUR_MS)
      await limiter.reserve('k', { hold: 3, ttl: '1h' })
      clock.advance(38.5 * HOUR_MS)
      equal('used', await limiter.get('k'), 0)
      equal('a hit on all', (await limiter.hit('k', { cost: 5 })).allowed, true)
    })

    reserveTest('a hold that is cancelled costs nothing', [tokens], async (limiter) => {
      const hold = await limiter.reserve('k', { hold: 100 })
      await hold.cancel()
      equal('used', await limiter.get('k'), 0)
      equal('a hit on all', (await limiter.hit('k', { cost: 100 })).allowed, true)
    })

    reserveTest('a hold of a crashed process is charged at its end, or released', [tokens], async (limiter, clock) => {
      const charged = await limiter.reserve('k', { hold: 30, ttl: 200 })
      const released = await limiter.reserve('k', { hold: 50, ttl: 200, expired: 'release' })
      clock.advance(199)
      equal('before the end', await limiter.get('k'), 80)
      clock.advance(1)
      equal('after it', await limiter.get('k'), 30)
      for (const hold of [charged, released]) await refused('a settle after the end', async () => hold.settle())
      equal('after the settle', await limiter.get('k'), 30)
    })

    reserveTest('an extended hold lives on', [tokens], async (limiter, clock) => {
      const hold = await limiter.reserve('k', { hold: 30, ttl: 200 })
      clock.advance(150)
      await hold.extend(300)
      clock.advance(299)
      equal('used', await limiter.get('k'), 30)
      await hold.settle(1)
      equal('settled', await limiter.get('k'), 1)
    })

    reserveTest('a smaller grant is the largest that fits', [tokens], async (limiter) => {
      await limiter.hit('k', { cost: 70 })
      equal('granted', (await limiter.reserve('k', { hold: 50, atLeast: 10 })).granted[tokens.name], 30)
      equal('no more', (await limiter.reserve('k', { hold: 50, atLeast: 1 })).allowed, false)
    })

    reserveTest('a key has a bounded number of holds', [tokens], async (limiter) => {
      for (let i = 0; i < 20; i++) await limiter.reserve('k', { hold: 1 })
      await refused('one more', async () => limiter.reserve('k', { hold: 1 }))
      equal('used', await limiter.get('k'), 20)
    })

    reserveTest(
      'a stampede holds no more than the limit, and all of it can be spent after',
      [requests, tokens],
      async (limiter) => {
        const all = await Promise.all(
          Array.from({ length: 30 }, () => limiter.reserve('k', { hold: { requests: 1, tokens: 20 } })),
        )
        const granted = all.filter(({ allowed }) => allowed)
        equal('granted', granted.length, 5)
        await Promise.all(granted.map((hold) => hold.cancel()))
        equal('tokens', await limiter.get('k', { rule: 'tokens' }), 0)
        equal('a hit on all', (await limiter.hit('k', { cost: 5 })).allowed, true)
      },
    )
  })

  tools.describe('holds units on several keys, all or nothing', () => {
    const perUser = fixedWindow({ limit: 5, window: 1000, name: 'user', per: 'user' })
    const perOrg = slidingLog({ limit: 9, window: 1000, name: 'org', per: 'org' })
    const everybody = tokenBucket({ capacity: 12, refill: 1, every: '1d', name: 'everybody', per: [] })
    const rules = [perUser, perOrg, everybody]
    const reserve = async (limiter: AnyLimiter, user: string, org: string, options: ReserveOptions) =>
      limiter.reserve({ user, org } as Subject, options)

    reserveTest('a denial leaves nothing held', rules, async (limiter) => {
      await reserve(limiter, 'ada', 'acme', { hold: { org: 8 }, cost: { user: 2, everybody: 3 } })
      equal('denied', (await reserve(limiter, 'bob', 'acme', { hold: { org: 2 } })).allowed, false)
      const get = async (user: string, rule: string) => limiter.get({ user, org: 'acme' } as Subject, { rule })
      equal('bob', await get('bob', 'user'), 0)
      equal('acme', await get('bob', 'org'), 8)
      equal('everybody', await get('bob', 'everybody'), 3)
    })

    reserveTest('a stampede of subjects exceeds no limit', rules, async (limiter) => {
      const subjects = ['a', 'b', 'c', 'd'].flatMap((user) => ['x', 'y'].map((org) => [user, org] as const))
      const reserved = await Promise.all(
        Array.from({ length: 64 }, async (_, i) => {
          const [user, org] = subjects[(i * 7) % subjects.length]
          return { user, org, hold: await reserve(limiter, user, org, { hold: 1 }) }
        }),
      )
      const open = reserved.filter(({ hold }) => hold.allowed)
      equal('some are granted', open.length > 0, true)
      equal('everybody', await limiter.get({ user: 'a', org: 'x' } as Subject, { rule: 'everybody' }), open.length)
      for (const org of ['x', 'y']) {
        const count = open.filter((each) => each.org === org).length
        equal(`${org} within the limit`, count <= perOrg.limit, true)
        equal(org, await limiter.get({ user: 'a', org } as Subject, { rule: 'org' }), count)
      }
      await Promise.all(open.map(({ hold }, i) => (i % 2 === 0 ? hold.cancel() : hold.settle())))
      const settled = open.filter((_, i) => i % 2 === 1)
      for (const user of ['a', 'b', 'c', 'd']) {
        const count = settled.filter((each) => each.user === user).length
        equal(`settled of ${user}`, await limiter.get({ user, org: 'x' } as Subject, { rule: 'user' }), count)
      }
    })
  })
}

/** Opens a tally whose store can hold units. */
function tallyOf(store: Store, rules: readonly Rule[]): Tally {
  return prepareHolds(store).tally(rules)
}
