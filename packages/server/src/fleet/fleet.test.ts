import { fakeClock } from 'sluice/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../../test/servers/redis-server.mjs'
import { shadowed } from '../../test/shadowed.ts'
import { REASON } from '../stats/policy-stats.ts'
import { Stats } from '../stats/stats.ts'
import { Fleet } from './fleet.ts'
import { type FleetBoard, MOST_TEXT_CHARACTERS, type PublishedText } from './fleet-board.ts'
import { readReport, reportOf, SERIES_SECONDS } from './instance-report.ts'
import { publishedShadows, type ShadowedPolicy } from './published-shadows.ts'

/** A board in memory whose ages the test decides. */
class TestBoard implements FleetBoard {
  readonly texts = new Map<string, { text: string; ageMs: number }>()
  publications = 0
  reads = 0
  error: Error | undefined

  async publish(id: string, text: string): Promise<void> {
    this.publications += 1
    if (this.error !== undefined) throw this.error
    this.texts.set(id, { text, ageMs: 0 })
  }

  async read(): Promise<readonly PublishedText[]> {
    this.reads += 1
    if (this.error !== undefined) throw this.error
    return [...this.texts].map(([id, published]) => ({ id, ...published }))
  }
}

const clock = fakeClock(1_800_000_000_000)

function statsWith(checks: Readonly<Record<string, number>>): Stats {
  const stats = new Stats(clock.now)
  for (const [policy, count] of Object.entries(checks)) {
    const policyStats = stats.statsOf(policy)
    for (let i = 0; i < count; i++) {
      const second = Math.floor(clock.now() / 1000)
      policyStats.count(second, REASON.within)
      stats.total.count(second, REASON.within)
    }
  }
  return stats
}

function instance(
  board: FleetBoard | undefined,
  checks: Readonly<Record<string, number>> = {},
  policies: readonly ShadowedPolicy[] = [],
) {
  const problems: (string | undefined)[] = []
  const stats = statsWith(checks)
  const fleet = new Fleet({
    board,
    stats,
    version: '1.2.3',
    stateOf: () => 'ready',
    shadowed: () => policies,
    onProblem: (error) => problems.push(error?.message),
  })
  onTestFinished(() => fleet.close())
  return { fleet, stats, problems }
}

async function published(
  board: TestBoard,
  checks: Readonly<Record<string, number>> = {},
  policies: readonly ShadowedPolicy[] = [],
) {
  const made = instance(board, checks, policies)
  made.fleet.start()
  await until('its text', async () => board.texts.has(made.fleet.id))
  return made
}

describe('the fleet', () => {
  test('is this instance alone without a shared database', async () => {
    const { fleet } = instance(undefined, { a: 2 })
    fleet.start()
    expect(await fleet.view()).toMatchObject({
      instances: [{ id: fleet.id, isSelf: true, state: 'ready', report: { version: '1.2.3' } }],
      up: 1,
      totals: { allowed: 2 },
      policies: [{ name: 'a', allowed: 2 }],
      problem: undefined,
    })
  })

  test('sums the report of all instances that are up, by second and by policy', async () => {
    const board = new TestBoard()
    const [one, two] = [await published(board, { a: 3, b: 1 }), await published(board, { a: 5 })]
    for (const { fleet } of [one, two]) {
      // A read is used again for a second.
      await until('both instances', async () => (await fleet.view()).instances.length === 2)
      const { instances, up, totals, series, policies, lastSecond } = await fleet.view()
      expect([instances.length, up, instances[0].id, totals.allowed]).toEqual([2, 2, fleet.id, 9])
      expect([lastSecond, series.allowed.length, series.allowed.at(-1)]).toEqual([1_800_000_000, SERIES_SECONDS, 9])
      expect(policies.map(({ name, allowed }) => [name, allowed])).toEqual([
        ['a', 8],
        ['b', 1],
      ])
    }
  })

  test('shows the seconds of an instance at their place, although it has published some time ago', async () => {
    const board = new TestBoard()
    await published(board, { a: 5 })
    clock.advance(7000)
    const { fleet } = instance(board, { a: 1 })
    const { series } = await fleet.view()
    expect([series.allowed.at(-8), series.allowed.at(-1)]).toEqual([5, 1])
  })

  test('an instance that misses three texts is gone and not in the sums; one that stops says so', async () => {
    const board = new TestBoard()
    const [one, two] = [await published(board, { a: 3 }), await published(board, { a: 5 })]
    const own = board.texts.get(two.fleet.id) as { ageMs: number }
    own.ageMs = 15_000
    expect((await instance(board).fleet.view()).instances.map(({ state }) => state)).toEqual(['ready', 'ready', 'ready'])
    own.ageMs = 15_001
    const later = instance(board)
    const view = await later.fleet.view()
    expect(view.instances.find(({ id }) => id === two.fleet.id)).toMatchObject({ state: 'gone', ageMs: 15_001 })
    expect([view.up, view.totals.allowed]).toEqual([2, 3])
    await one.fleet.close()
    const last = await instance(board).fleet.view()
    expect(last.instances.find(({ id }) => id === one.fleet.id)).toMatchObject({
      state: 'stopped',
      report: { totals: { allowed: 3 } },
    })
  })

  test('a database that does not answer is reported once, and the report of this instance are shown', async () => {
    const board = new TestBoard()
    board.error = new Error('no answer')
    const { fleet, problems } = instance(board, { a: 1 })
    fleet.start()
    await until('the report', async () => problems.length > 0)
    expect(problems).toEqual(['no answer'])
    expect(await fleet.view()).toMatchObject({ up: 1, totals: { allowed: 1 }, problem: 'no answer' })
  })

  test('many requests for the report read the board once', async () => {
    const board = new TestBoard()
    const { fleet } = instance(board)
    await Promise.all(Array.from({ length: 100 }, () => fleet.view()))
    expect(board.reads).toBe(1)
  })

  test('has the counts of policies in shadow mode, of other instances as they published them', async () => {
    const board = new TestBoard()
    await published(board, {}, [shadowed({ ada: 3, bob: 1 })])
    const { fleet } = await published(board, {}, [shadowed({ ada: 2 })])
    await until('both instances', async () => (await fleet.view()).instances.length === 2)
    expect(fleet.up).toBe(2)
    const { instances } = await fleet.view()
    expect(instances.map(({ report }) => report.shadows?.policies[0]?.denied)).toEqual([2, 4])
  })

  test('publishes less often in a large fleet', async () => {
    const board = new TestBoard()
    const { stats } = instance(undefined)
    const text = JSON.stringify(reportOf(stats, { version: '1', state: 'ready', everyMs: 5000, shadows: undefined }))
    for (let i = 0; i < 149; i++) board.texts.set(`i${i}`, { text, ageMs: 0 })
    const { fleet } = await published(board)
    await until('the new pause', async () => (await fleet.view()).instances[0].report.everyMs === 15_000)
  })
})

describe('the text of an instance', () => {
  test('has a bounded size, whatever was checked', () => {
    const stats = statsWith(Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`${'ü'.repeat(60)}${i}`, 1])))
    const clients = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`${'ü'.repeat(250)}${i}`, 2]))
    const shadows = publishedShadows(Array.from({ length: 101 }, (_, i) => shadowed(clients, { name: `${'p'.repeat(60)}${i}` })))
    const report = reportOf(stats, { version: '1.2.3', state: 'ready', everyMs: 5000, shadows })
    const text = JSON.stringify(report)
    expect(report.policies).toHaveLength(20)
    expect(text.length).toBeLessThan(MOST_TEXT_CHARACTERS)
    expect(readReport(text)).toEqual(report)
  })

  test.each([
    ['no JSON', () => '{'],
    ['no object', () => 'null'],
    ['an unknown state', (text: string) => text.replace('ready', 'asleep')],
    ['a series of another length', (text: string) => text.replace('"denied":[0,', '"denied":[')],
    ['a negative count', (text: string) => text.replace('"denied":[0,', '"denied":[-1,')],
    ['a time that no date has', (text: string) => text.replace(/"startedMs":\d+/, '"startedMs":9000000000000000')],
  ])('of another form is counted as unreadable: %s', async (_, change) => {
    const board = new TestBoard()
    const text = JSON.stringify(reportOf(statsWith({}), { version: '1', state: 'ready', everyMs: 5000, shadows: undefined }))
    expect(readReport(text)).toBeDefined()
    board.texts.set('other', { text: change(text), ageMs: 0 })
    expect(await instance(board).fleet.view()).toMatchObject({ up: 1, unreadable: 1 })
  })
})
