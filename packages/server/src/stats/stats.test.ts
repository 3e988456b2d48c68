import { createLimiter, memoryStore, parseRule } from 'sluice'
import { fakeClock } from 'sluice/testing'
import { expect, test } from 'vitest'
import { REASON } from './policy-stats.ts'
import { Stats } from './stats.ts'

const limiter = createLimiter({ rules: parseRule('10/minute'), store: memoryStore({ clock: fakeClock() }) })
const decision = limiter.peek('ada')

function setUp() {
  const clock = fakeClock()
  const stats = new Stats(() => clock.now())
  const record = (policy: string, client = 'ada') =>
    stats.record(stats.statsOf(policy), policy, REASON.within, { clientId: client, route: '/a', cost: 1 }, decision)
  return { clock, stats, record }
}

test('above a hundred policies the rest are counted together', () => {
  const { stats, record } = setUp()
  for (let i = 0; i < 150; i++) record(`policy-${i}`)
  expect(stats.policies()).toHaveLength(101)
  expect(stats.policies().at(-1)).toMatchObject({ name: 'other' })
  expect(stats.other.byReason[REASON.within]).toBe(50)
  expect(stats.total.byReason[REASON.within]).toBe(150)
  const now = Math.floor(stats.now() / 1000)
  expect([stats.isCompleteSince(now), stats.isCompleteSince(now + 1)]).toEqual([false, true])
})

test('no name comes twice, also if a policy is called other', () => {
  const { stats, record } = setUp()
  const now = Math.floor(stats.now() / 1000)
  record('other')
  expect(stats.isCompleteSince(now)).toBe(true)
  for (let i = 0; i < 150; i++) record(`policy-${i}`)
  expect(stats.isCompleteSince(now)).toBe(false)
  const names = stats.policies().map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(stats.other.byReason[REASON.within]).toBe(51)
})

test('a policy without checks for an hour is replaced by a new one, and holders of its statistics can see it', () => {
  const { clock, stats, record } = setUp()
  for (let i = 0; i < 100; i++) record(`policy-${i}`)
  const held = stats.statsOf('policy-0')
  const start = Math.floor(stats.now() / 1000)
  expect(stats.isCompleteSince(start)).toBe(true)
  clock.advance(3_600_000)
  record('policy-1')
  expect(stats.isCompleteSince(start)).toBe(true)
  record('new')
  expect([stats.isCompleteSince(start), stats.isCompleteSince(start + 1)]).toEqual([false, true])
  expect(held.isCurrent).toBe(false)
  expect(stats.statsOf('new').name).toBe('new')
  expect(stats.statsOf('policy-1').isCurrent).toBe(true)
})

test('policies whose first check is not decided yet do not replace each other', () => {
  const { stats } = setUp()
  const kept = Array.from({ length: 200 }, (_, i) => stats.statsOf(`policy-${i}`))
  expect(kept.every(({ isCurrent }) => isCurrent)).toBe(true)
  expect(new Set(kept).size).toBe(101)
})

test('an event names the policy even if its statistics are combined with others', () => {
  const { stats, record } = setUp()
  for (let i = 0; i < 100; i++) record(`policy-${i}`)
  const check = { clientId: 'ada', route: '/a', cost: 1 }
  stats.record(stats.statsOf('late'), 'late', REASON.limit, check, limiter.peek('ada', { cost: 11 }))
  expect(stats.events.recent).toMatchObject([{ policy: 'late', outcome: 'deny', reason: 'limit', retry_after_ms: null }])
})

test('a check whose limit came with the call is counted, and is not replayed under policies', () => {
  const { stats } = setUp()
  const check = { clientId: 'ada', route: 'CL.THROTTLE', cost: 1 }
  stats.record(stats.statsOf('brought'), 'brought', REASON.within, { ...check, form: 'own-limit' }, decision)
  stats.record(stats.statsOf('default'), 'default', REASON.within, check, decision)
  expect(stats.total.totals().allowed).toBe(2)
  expect(stats.recent.read(stats.now())).toMatchObject({ decided: 1, checks: [check] })
})
