// A simulation of the checks that the service has decided in the last hour.
// Invariant: other requests are answered meanwhile: a turn of the event loop replays at most CHECKS_A_TURN checks.

import { setImmediate } from 'node:timers/promises'
import { type Policy, readPolicies } from '../../policies/policy.ts'
import { PolicyBook } from '../../policies/policy-book.ts'
import type { RecentSample } from '../../stats/recent-checks.ts'
import { LogClock } from './log-clock.ts'
import { policiesOf } from './policy-books.ts'
import { Simulation } from './simulation.ts'

/** About two milliseconds. */
const CHECKS_A_TURN = 500

export interface RecentTraffic {
  readonly sample: RecentSample
  /** The policies in force. They are only read. */
  readonly current: PolicyBook
  /** Proposed policies as they are written. They replace those of the same names. */
  readonly changes: readonly unknown[]
  /** Names of policies to leave out. */
  readonly without: readonly string[]
  /** Ends the replay. */
  readonly signal?: AbortSignal
}

/** Replays the sample under the changes, beside the policies in force. Throws if a change is not valid, or if it was ended. */
export async function simulateRecent({ sample, current, changes, without, signal }: RecentTraffic): Promise<Simulation> {
  const clock = new LogClock()
  const policies = readPolicies(changes, 'api', 'policies')
  const proposed = changedBook(current, policies, without, clock)
  const names = new Set(policies.map(({ name }) => name))
  const simulation = new Simulation({ clock, proposed, current, findsLimits: names })
  try {
    for (const [i, check] of sample.checks.entries()) {
      if (i % CHECKS_A_TURN === 0) {
        await setImmediate()
        signal?.throwIfAborted()
      }
      const { timeMs, clientId, route, cost, attributes } = check
      simulation.replay({ timeMs, clientId, route, cost, attributes }, check.countedRoute !== undefined)
    }
  } finally {
    simulation.close()
  }
  return simulation
}

/** Returns a copy of the book with the changes. Throws if a changed policy has the patterns of another one. */
function changedBook(current: PolicyBook, changes: readonly Policy[], without: readonly string[], clock: LogClock): PolicyBook {
  const left = new Set(without)
  const book = new PolicyBook(() => clock.now())
  // Policies of the file become policies of the API in the copy, so that they can be changed there.
  book.replaceApiPolicies(policiesOf(current).filter(({ name, source }) => !left.has(name) && source !== 'built-in'))
  for (const policy of changes) book.put(policy)
  return book
}
