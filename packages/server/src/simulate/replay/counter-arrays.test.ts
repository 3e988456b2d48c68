// Requests that are decided in counter arrays have the same counts as those that the decider decides.

import { type RuleSpec, ruleCatalogue } from 'sluice/rules'
import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../../test/rounds.ts'
import { seededRandom } from '../../../../sluice/src/testing/random.ts'
import type { PolicySpec } from '../../policies/policy.ts'
import { blankEntry, type LogEntry } from '../forms/entry-reader.ts'
import { reportOf } from '../report/report.ts'
import { MOST_GROUPS } from './client-groups.ts'
import { CounterArrays } from './counter-arrays.ts'
import { LogClock } from './log-clock.ts'
import { bookOf } from './policy-books.ts'
import { Simulation, type SimulationOptions } from './simulation.ts'

const START = 1_763_193_637_000

function randomEntries(seed: number, length: number): LogEntry[] {
  const random = seededRandom(seed)
  let timeMs = START
  return Array.from({ length }, () => {
    timeMs += random.pick([0, 0, 1, 137, 1000, 2000, 30_000, -500])
    const clientId = random.pick(['ada', 'bob', 'eu-1', 'eu-2', 'us-1', ...Array.from({ length: 30 }, (_, i) => `c${i}`)])
    const route = random.pick(['/orders', '/orders/7', '/login', '/', '/other'])
    return { ...blankEntry(), timeMs, clientId, route, cost: random.pick([1, 1, 1, 2, 7, 100]) }
  })
}

interface Replayed {
  readonly policies: PolicySpec[]
  readonly entries: readonly LogEntry[]
  readonly current?: PolicySpec[]
  readonly options?: Partial<SimulationOptions>
}

/** With `onDecision`, every request is decided by the decider. */
function reported({ policies, entries, current, options = {} }: Replayed, onDecision?: SimulationOptions['onDecision']) {
  const clock = new LogClock()
  const against = current && bookOf(current, clock)
  const simulation = new Simulation({ clock, proposed: bookOf(policies, clock), current: against, onDecision, ...options })
  for (const entry of entries) simulation.replay({ ...entry })
  simulation.close()
  return reportOf(simulation, 100)
}

function expectSame(replayed: Replayed, seed: number) {
  const report = reported(replayed)
  expect(report, `SEED=${seed}`).toEqual(reported(replayed, () => {}))
  return report
}

const forms = ruleCatalogue
  .filter(({ algorithm }) => algorithm !== 'concurrency')
  .flatMap(({ algorithm, forms }) =>
    Object.entries(forms).map(([form, options]) => [`${algorithm}, ${form}`, { algorithm, ...options } as RuleSpec] as const),
  )

describe.each(forms)('%s', (_name, rule) => {
  test.each(['route', 'policy'] as const)('scope %s: the report is that of the decider', (scope) => {
    for (let round = 0; round < roundsOf({ usual: 1, long: 50 }); round++) {
      const { seed } = seededRandom()
      const entries = randomEntries(seed, 400)
      expectSame({ policies: [{ name: 'default', rules: [rule], scope }], entries }, seed)
    }
  })
})

describe('policies of all kinds', () => {
  const policies: PolicySpec[] = [
    { name: 'orders', route: '/orders*', rules: '5/10seconds', scope: 'policy' },
    { name: 'login', route: '/login', rules: 'token-bucket 3/minute' },
    { name: 'eu', client: 'eu-*', rules: '3/minute; 20/hour' },
    { name: 'ada', client: 'ada', route: '/orders', rules: 'gcra 2/minute' },
    { name: 'bob', client: 'bob', mode: 'shadow', rules: '2/minute' },
    { name: 'free', client: 'c1', mode: 'off', rules: '1/day' },
    { name: 'blocked', client: 'c2', mode: 'deny' },
    { name: 'logged', client: 'us-*', rules: 'sliding-log 2/minute' },
  ]
  const current: PolicySpec[] = [{ name: 'default', rules: '4/minute', scope: 'policy' }]

  test('have the report of the decider, also beside others', () => {
    const { seed } = seededRandom()
    const report = expectSame({ policies, current, entries: randomEntries(seed, 2000) }, seed)
    expect(report.change?.newly_denied).toBeGreaterThan(0)
    expect(report.shadow_denied).toBeGreaterThan(0)
    expect(report.policies.length).toBeGreaterThan(6)
  })

  test.each([
    ['expires', { name: 'week', route: '/other', rules: '1/minute', expires_at: new Date(START + 1_800_000).toISOString() }],
    ['has a condition', { name: 'paid', where: { plan: 'paid' }, rules: '1/minute' }],
    ['always applies', { name: 'all', applies: 'always', rules: '9/minute', scope: 'policy' }],
  ] as [string, PolicySpec][])('have it too if one of them %s, which changes the policy of a client and a route', (_, more) => {
    const { seed } = seededRandom()
    const entries = randomEntries(seed, 1000).map((entry, i) =>
      i % 3 === 0 ? { ...entry, attributes: { plan: 'paid' } } : entry,
    )
    const report = expectSame({ policies: [...policies, more], entries }, seed)
    expect(report.policies.find(({ name }) => name === more.name)?.requests).toBeGreaterThan(0)
  })

  test.each([[{ maxClients: 10 }], [{ maxKeys: 1000, maxClients: 400 }], [{ asPaths: true }]])(
    'have it with %o, where only some requests have a counter array',
    (options) => {
      const { seed } = seededRandom()
      const entries = randomEntries(seed, 1000)
      expectSame({ policies, current, entries, options }, seed)
    },
  )
})

test('requests of several forms are decided by the decider, because they may count under one key', () => {
  const { seed } = seededRandom()
  const entries = randomEntries(seed, 1000)
  const reportWith = (formsVary: boolean) => {
    const clock = new LogClock()
    const proposed = bookOf([{ name: 'login', route: '/login', rules: '3/minute' }], clock)
    const decided: SimulationOptions['onDecision'] = formsVary ? undefined : () => {}
    const simulation = new Simulation({ clock, proposed, formsVary, onDecision: decided })
    for (const [i, entry] of entries.entries()) simulation.replay({ ...entry }, i % 2 === 0 ? 'path' : undefined)
    simulation.close()
    return reportOf(simulation, 100)
  }
  expect(reportWith(true), `SEED=${seed}`).toEqual(reportWith(false))
})

describe('counter arrays', () => {
  const arraysOf = (policies: PolicySpec[], most: number) => {
    const clock = new LogClock()
    const arrays = new CounterArrays({ policies: bookOf(policies, clock), most, note: ({ name }) => name })
    return (client: number, route: number, clientId = `c${client}`) =>
      arrays.find(client, route, { clientId, route: `/${route}` })
  }

  test('are bounded, and a key that had none gets none later', () => {
    const find = arraysOf([{ name: 'default', rules: '1/minute' }], 3)
    const found = () => [0, 1, 2, 3, 4].map((route) => find(7, route) !== undefined)
    expect(found()).toEqual([true, true, true, false, false])
    expect(found()).toEqual([true, true, true, false, false])
    expect(find(8, 1)).toBe(find(7, 1))
  })

  test('are shared by routes if the policy counts them together', () => {
    const find = arraysOf([{ name: 'default', rules: '1/minute', scope: 'policy' }], 1)
    expect(find(1, 1)).toBe(find(2, 5))
  })

  test('are chosen by all patterns that a client matches, for a bounded number of groups', () => {
    const exact = Array.from({ length: 2 * MOST_GROUPS }, (_, i) => ({ name: `p${i}`, client: `c${i}`, rules: '1/minute' }))
    const find = arraysOf([...exact, { name: 'default', rules: '1/minute' }], 1000)
    const notes = Array.from({ length: 2 * MOST_GROUPS }, (_, i) => find(i, 0)?.notes)
    expect(notes.slice(0, MOST_GROUPS)).toEqual(exact.slice(0, MOST_GROUPS).map(({ name }) => name))
    expect(notes.slice(MOST_GROUPS)).toEqual(Array.from({ length: MOST_GROUPS }, () => undefined))
    expect(find(3, 0)?.notes).toBe('p3')
  })

  test('are not for clients and routes without a number', () => {
    const find = arraysOf([{ name: 'default', rules: '1/minute' }], 10)
    expect([find(-1, 0), find(0, -1)]).toEqual([undefined, undefined])
  })
})
