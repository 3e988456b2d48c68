// The smallest limit of a rule is checked by replaying the same requests with it, and with one less.

import { type RuleSpec, ruleCatalogue } from 'sluice/rules'
import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../../test/rounds.ts'
import { seededRandom } from '../../../../sluice/src/testing/random.ts'
import { SHARES } from '../counting/peak-usage.ts'
import type { LogEntry } from '../forms/entry-reader.ts'
import { LogClock } from './log-clock.ts'
import { bookOf } from './policy-books.ts'
import { withLimit } from './raised-limits.ts'
import { Simulation } from './simulation.ts'

type Entries = readonly Omit<LogEntry, 'attributes'>[]

/** Bursts of many clients over minutes, with different costs. */
function randomEntries(seed: number): Entries {
  const random = seededRandom(seed)
  const entries: Omit<LogEntry, 'attributes'>[] = []
  let timeMs = 1_763_193_637_000
  for (let i = 0; i < 500; i++) {
    timeMs += random.pick([0, 1, 10, 250, 1000, 1000, 30_000])
    const clientId = `client-${random.whole(0, 1) === 0 ? random.whole(0, 3) : random.whole(0, 120)}`
    entries.push({ timeMs, clientId, route: random.pick(['/a', '/b']), cost: random.pick([1, 1, 1, 2, 5]) })
  }
  return entries
}

function replayed(entries: Entries, rules: RuleSpec[], scope: 'route' | 'policy') {
  const clock = new LogClock()
  const proposed = bookOf([{ name: 'default', rules, scope }], clock)
  const simulation = new Simulation({ clock, proposed })
  for (const entry of entries) simulation.replay({ ...entry, attributes: undefined })
  simulation.close()
  return simulation
}

/** Share of the clients that no request of is denied. */
function untouched(entries: Entries, rule: RuleSpec, scope: 'route' | 'policy'): number {
  const { clients } = replayed(entries, [rule], scope)
  return 1 - clients.clientsWith('denied') / clients.size
}

const forms = ruleCatalogue
  .filter(({ algorithm }) => algorithm !== 'concurrency')
  .flatMap(({ algorithm, forms }) =>
    Object.entries(forms).map(([form, options]) => [`${algorithm}, ${form}`, { algorithm, ...options } as RuleSpec] as const),
  )

describe.each(forms)('%s', (_name, rule) => {
  test.each(['route', 'policy'] as const)(
    'scope %s: the smallest limit leaves the share untouched, and one less does not',
    (scope) => {
      for (let round = 0; round < roundsOf({ usual: 1, long: 30 }); round++) {
        const { seed } = seededRandom()
        const entries = randomEntries(seed)
        const { peaks, policies, clients } = replayed(entries, [{ ...rule, name: 'one' }], scope)
        expect(policies.get('default')?.requests, `SEED=${seed}`).toBe(entries.length)
        const smallest = peaks?.smallestLimits('default', 'one')
        expect(smallest?.clients).toBe(clients.size)
        for (const [name, share] of Object.entries(SHARES)) {
          const limit = smallest?.[name as keyof typeof SHARES] ?? 0
          const with_ = untouched(entries, withLimit(rule, limit), scope)
          expect(with_, `SEED=${seed}: ${name} with ${limit}`).toBeGreaterThanOrEqual(share)
          if (limit === 1) continue
          expect(untouched(entries, withLimit(rule, limit - 1), scope), `SEED=${seed}: ${name} with ${limit} − 1`).toBeLessThan(
            share,
          )
        }
      }
    },
  )
})

test('rules of one policy are judged each alone', () => {
  const entries = randomEntries(seededRandom().seed)
  const minute: RuleSpec = { algorithm: 'fixed-window', limit: 3, window: '1m', name: 'minute' }
  const hour: RuleSpec = { algorithm: 'sliding-log', limit: 20, window: '1h', name: 'hour' }
  const both = replayed(entries, [minute, hour], 'policy').peaks
  expect(both?.smallestLimits('default', 'minute')).toEqual(
    replayed(entries, [minute], 'policy').peaks?.smallestLimits('default', 'minute'),
  )
  expect(both?.smallestLimits('default', 'hour')).toEqual(
    replayed(entries, [hour], 'policy').peaks?.smallestLimits('default', 'hour'),
  )
})

test('a policy that can only be reserved has no smallest limit, and its requests are not decided', () => {
  const entries = randomEntries(1).slice(0, 10)
  const rules: RuleSpec[] = [{ algorithm: 'concurrency', limit: 2, ttl: '1m', name: 'places' }]
  const simulation = replayed(entries, rules, 'policy')
  expect(simulation.policies.get('default')).toMatchObject({ requests: 0, undecided: 10 })
  expect(simulation.peaks?.smallestLimits('default', 'places')).toBeUndefined()
})

test('rules of policies that always apply are judged alone, and a counter that clients share has no smallest limit', () => {
  const entries = randomEntries(seededRandom().seed)
  const clock = new LogClock()
  const shared: RuleSpec = { algorithm: 'fixed-window', limit: 5, window: '1h', per: [], name: 'shared' }
  const own: RuleSpec = { algorithm: 'fixed-window', limit: 5, window: '1m', name: 'own' }
  const proposed = bookOf(
    [
      { name: 'a', route: '/a', rules: [own], scope: 'policy' },
      { name: 'all', applies: 'always', rules: [own, shared], scope: 'policy' },
      { name: 'closed', client: 'client-0', mode: 'deny' },
    ],
    clock,
  )
  const simulation = new Simulation({ clock, proposed })
  for (const entry of entries) simulation.replay({ ...entry, attributes: undefined })
  const { peaks } = simulation
  const open = entries.filter(({ clientId }) => clientId !== 'client-0')
  expect(peaks?.smallestLimits('all', 'own')).toEqual(replayed(open, [own], 'policy').peaks?.smallestLimits('default', 'own'))
  expect(peaks?.smallestLimits('all', 'shared')).toBeUndefined()
  expect(peaks?.smallestLimits('closed', 'deny')).toBeUndefined()
  expect(simulation.policies.get('closed')?.rule('deny').denied).toBe(entries.length - open.length)
})
