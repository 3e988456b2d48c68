import { createLimiter, memoryStore, parseRule } from 'sluice'
import { fakeClock } from 'sluice/testing'
import { expect, test } from 'vitest'
import { REASON } from './figures.ts'
import { Stats } from './stats.ts'

const limiter = createLimiter({ rules: parseRule('10/minute'), store: memoryStore({ clock: fakeClock() }) })
const decision = limiter.peek('ada')

function setUp() {
  const clock = fakeClock()
  const stats = new Stats(() => clock.now())
  const record = (policy: string, client = 'ada') =>
    stats.record(stats.figuresOf(policy), policy, REASON.within, { clientId: client, route: '/a', cost: 1 }, decision)
  return { clock, stats, record }
}

test('beyond a hundred policies the rest are counted together', () => {
  const { stats, record } = setUp()
  for (let i = 0; i < 150; i++) record(`policy-${i}`)
  expect(stats.policies()).toHaveLength(101)
  expect(stats.policies().at(-1)).toMatchObject({ name: 'other' })
  expect(stats.other.byReason[REASON.within]).toBe(50)
  expect(stats.total.byReason[REASON.within]).toBe(150)
})

test('a policy that was silent for an hour gives way to a new one, and whoever held its figures can see it', () => {
  const { clock, stats, record } = setUp()
  for (let i = 0; i < 100; i++) record(`policy-${i}`)
  const held = stats.figuresOf('policy-0')
  clock.advance(3_600_000)
  record('policy-1')
  record('new')
  expect(held.isKept).toBe(false)
  expect(stats.figuresOf('new').name).toBe('new')
  expect(stats.figuresOf('policy-1').isKept).toBe(true)
})

test('policies whose first check is not decided yet do not give way to each other', () => {
  const { stats } = setUp()
  const figures = Array.from({ length: 200 }, (_, i) => stats.figuresOf(`policy-${i}`))
  expect(figures.every(({ isKept }) => isKept)).toBe(true)
  expect(new Set(figures).size).toBe(101)
})

test('an event tells the policy also where its figures are counted with others', () => {
  const { stats, record } = setUp()
  for (let i = 0; i < 100; i++) record(`policy-${i}`)
  const check = { clientId: 'ada', route: '/a', cost: 1 }
  stats.record(stats.figuresOf('late'), 'late', REASON.limit, check, limiter.peek('ada', { cost: 11 }))
  expect(stats.events.recent).toMatchObject([{ policy: 'late', outcome: 'deny', reason: 'limit', retry_after_ms: null }])
})
