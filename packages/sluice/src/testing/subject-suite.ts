// The tests of the store suite about subjects: objects of named keys, rules that count by different keys, and costs by rule.

import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { gcra } from '../algorithms/gcra/gcra.ts'
import { slidingLog } from '../algorithms/sliding-log/sliding-log.ts'
import { slidingWindow } from '../algorithms/sliding-window/sliding-window.ts'
import { tokenBucket } from '../algorithms/token-bucket/token-bucket.ts'
import type { Subject } from '../core/subject.ts'
import { createLimiter } from '../create-limiter.ts'
import { equal, refused, type SuiteTools } from './suite-tools.ts'
import type { AnyLimiter } from './walk.ts'

const requests = fixedWindow({ limit: 5, window: 1000, name: 'requests', per: 'user' })
const tokens = tokenBucket({ capacity: 8, refill: 3, every: 700, name: 'tokens', per: 'org' })
const everybody = slidingLog({ limit: 12, window: 900, name: 'everybody', per: [] })
const counting = fixedWindow({ limit: 4, window: 600, countDenied: true, name: 'counting', per: 'org' })
const routes = slidingWindow({ limit: 7, window: 800, name: 'routes', per: ['org', 'route'] })

/** Users and organisations with the same values. Equal values under different names must be counted separately. */
const PEOPLE: readonly Subject[] = ['ada', 'acme', '*'].flatMap((user) => ['acme', 'ada'].map((org) => ({ user, org })))

/** Pairs that collide if values are joined without their lengths, or escaped twice. */
const STRANGE_PAIRS: readonly Readonly<Record<'org' | 'route', string>>[] = [
  { org: 'x', route: 'y' },
  { org: 'y', route: 'x' },
  { org: 'xy', route: 'z' },
  { org: 'x', route: 'yz' },
  { org: '1:x', route: 'y' },
  { org: 'x', route: '1:y' },
  { org: 'x1:', route: 'y' },
  { org: '1:x1:y', route: '1:z' },
  { org: '1:x', route: '1:y1:z' },
  { org: 'x|y', route: 'z' },
  { org: 'x', route: '|yz' },
  { org: '%007c', route: 'y' },
  { org: '|', route: 'y' },
  { org: '\u0000', route: 'y' },
  { org: '\ud83d', route: '\ude00' },
  { org: '\ud83d\ude00', route: ' ' },
  { org: 'x'.repeat(300), route: 'y' },
  { org: 'x'.repeat(299), route: 'xy' },
]

const ada = { user: 'ada', org: 'acme' }

/** Defines the tests about subjects. */
export function subjectTests(tools: SuiteTools): void {
  tools.describe('answers as the definition does for named keys', () => {
    tools.walkTest('rules that count by user, by organisation, and everybody', [requests, tokens, everybody], PEOPLE)
    tools.walkTest('a rule that counts denied hits beside one that does not', [requests, counting], PEOPLE)
    const meter = gcra({ limit: 3, period: 900, burst: 5, name: 'meter', per: 'route' })
    tools.walkTest('values that are strange', [routes, meter], STRANGE_PAIRS)
  })

  tools.describe('counts by the named keys of a subject', () => {
    tools.limiterTest('each rule counts by its own key', [requests, tokens, everybody], async (limiter) => {
      await limiter.hit(ada)
      await limiter.hit({ user: 'bob', org: 'acme' })
      await limiter.hit({ user: 'ada', org: 'other' })
      equal('requests', await limiter.get(ada, { rule: 'requests' }), 2)
      equal('tokens', await limiter.get(ada, { rule: 'tokens' }), 2)
      equal('everybody', await limiter.get({ user: 'nobody', org: 'nowhere' }, { rule: 'everybody' }), 3)
    })

    tools.limiterTest('a denied hit charges no key', [requests, tokens, everybody], async (limiter) => {
      await limiter.hit({ user: 'bob', org: 'acme' }, { cost: 5 })
      equal('denied by the organisation', (await limiter.hit(ada, { cost: 4 })).allowed, false)
      equal('denied by the user', (await limiter.hit({ user: 'bob', org: 'other' })).allowed, false)
      equal('requests of ada', await limiter.get(ada), 0)
      equal('expiresAt of ada', await limiter.expiresAt(ada), 0)
      equal('tokens of acme', await limiter.get(ada, { rule: 'tokens' }), 5)
      equal('tokens of other', await limiter.expiresAt({ user: 'x', org: 'other' }, { rule: 'tokens' }), 0)
      equal('everybody', await limiter.get(ada, { rule: 'everybody' }), 5)
    })

    tools.limiterTest('a cost of 0 leaves a rule out', [requests, tokens, everybody], async (limiter) => {
      await limiter.set(ada, 5, { rule: 'requests' })
      const decision = await limiter.hit(ada, { cost: { requests: 0, tokens: 3 } })
      equal('allowed', decision.allowed, true)
      equal('rules that spoke', decision.rules.map(({ name }) => name).join(), 'tokens,everybody')
      equal('requests', await limiter.get(ada, { rule: 'requests' }), 5)
      equal('tokens', await limiter.get(ada, { rule: 'tokens' }), 3)
      equal('everybody', await limiter.get(ada, { rule: 'everybody' }), 1)
    })

    tools.limiterTest(
      'a refund gives back on every key, and a reset forgets them',
      [requests, tokens, everybody],
      async (limiter) => {
        const all = async (): Promise<string> =>
          (await Promise.all(limiter.rules.map(({ name }) => limiter.get(ada, { rule: name })))).join()
        await limiter.hit(ada, { cost: 5 })
        equal('used of the first rule', await limiter.refund(ada, { requests: 2, tokens: 3, everybody: 0 }), 3)
        equal('after the refund', await all(), '3,2,5')
        await limiter.reset(ada)
        equal('after the reset', await all(), '0,0,0')
      },
    )

    tools.limiterTest('a subject that is not right is refused and nothing is written', [requests, tokens], async (limiter) => {
      const bad = [{ user: 'ada' }, { ...ada, org: '' }, { ...ada, org: 7 }, { ...ada, route: 'x' }, 'ada', null, undefined]
      for (const subject of bad) {
        await refused(`hit ${JSON.stringify(subject)}`, async () => limiter.hit(subject as unknown as Subject))
        await refused(`inc ${JSON.stringify(subject)}`, async () => limiter.inc(subject as unknown as Subject))
      }
      await refused('a cost that names no rule', async () => limiter.hit(ada, { cost: { request: 1 } }))
      await refused('a cost that is no number', async () => limiter.hit(ada, { cost: { requests: 1, tokens: -1 } }))
      await refused('no cost at all', async () => limiter.hit(ada, { cost: { requests: 0, tokens: 0 } }))
      for (const rule of ['requests', 'tokens']) equal(`expiresAt of ${rule}`, await limiter.expiresAt(ada, { rule }), 0)
    })

    tools.limiterTest('subjects that differ have states of their own', [routes], async (limiter) => {
      for (const [i, pair] of STRANGE_PAIRS.entries()) await limiter.set(pair, i)
      for (const [i, pair] of STRANGE_PAIRS.entries()) equal(JSON.stringify(pair).slice(0, 60), await limiter.get(pair), i)
    })

    tools.limiterTest('rules of one name that count by different keys never meet', [requests], async (_, __, store) => {
      const make = (per?: string | readonly string[]): AnyLimiter =>
        createLimiter({ rules: fixedWindow({ limit: 9, window: 1000, name: 'same', ...(per !== undefined && { per }) }), store })
      const limiters: readonly (readonly [AnyLimiter, Subject])[] = [
        [make(), '*'],
        [make([]), {}],
        [make('user'), { user: '*' }],
        [make('org'), { org: '*' }],
        [make(['org', 'user']), { org: '*', user: '*' }],
      ]
      for (const [i, [limiter, subject]] of limiters.entries()) await limiter.set(subject, i + 1)
      for (const [i, [limiter, subject]] of limiters.entries()) equal(`limiter ${i}`, await limiter.get(subject), i + 1)
    })
  })

  tools.describe('lets no more than every limit through a stampede of subjects', () => {
    tools.limiterTest('of one subject exactly the least limit', [requests, tokens, everybody], async (limiter) => {
      const decisions = await Promise.all(Array.from({ length: 30 }, () => limiter.hit(ada)))
      equal('allowed', decisions.filter(({ allowed }) => allowed).length, 5)
      for (const { name } of limiter.rules) equal(`used of ${name}`, await limiter.get(ada, { rule: name }), 5)
    })

    tools.limiterTest('of several subjects what each key has', [requests, tokens, everybody], async (limiter) => {
      const subjects = ['a', 'b', 'c', 'd'].flatMap((user) => ['x', 'y'].map((org) => ({ user, org })))
      const hits = Array.from({ length: 80 }, (_, i) => subjects[(i * 7) % subjects.length])
      const decisions = await Promise.all(hits.map((subject) => limiter.hit(subject)))
      const allowed = hits.filter((_, i) => decisions[i].allowed)
      equal('some are allowed', allowed.length > 0, true)
      for (const user of ['a', 'b', 'c', 'd']) {
        const count = allowed.filter((subject) => subject.user === user).length
        equal(`${user} within the limit`, count <= requests.limit, true)
        equal(`used of ${user}`, await limiter.get({ user, org: 'x' }), count)
      }
      for (const org of ['x', 'y']) {
        const count = allowed.filter((subject) => subject.org === org).length
        equal(`${org} within the limit`, count <= tokens.limit, true)
        equal(`used of ${org}`, await limiter.get({ user: 'a', org }, { rule: 'tokens' }), count)
      }
      equal('everybody within the limit', allowed.length <= everybody.limit, true)
      equal('used of everybody', await limiter.get(ada, { rule: 'everybody' }), allowed.length)
    })
  })
}
