// A simulation of the checks that the service has decided in the last hour.
// Invariant: other requests are answered meanwhile: a turn of the event loop takes about TURN_MS, however many policies there are and however
// many rules a check has.

import { setImmediate } from 'node:timers/promises'
import { type Policy, readPolicies } from '../../policies/policy.ts'
import { PolicyBook } from '../../policies/policy-book.ts'
import type { RecentSample } from '../../stats/recent-checks.ts'
import { LogClock } from './log-clock.ts'
import { Simulation } from './simulation.ts'

/** Work of one turn of the event loop. */
const TURN_MS = 3

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
  const concerned = await concernedPolicies(sample, current, policies, signal)
  const left = new Set(without)
  const proposed = copyOf(
    concerned.filter(({ name }) => !left.has(name)),
    clock,
  )
  for (const policy of policies) proposed.put(policy)
  const names = new Set(policies.map(({ name }) => name))
  const simulation = new Simulation({ clock, proposed, current: copyOf(concerned, clock), findsLimits: names, formsVary: true })
  try {
    await inTurns(sample.checks, signal, ({ timeMs, clientId, route, cost, attributes, form }) => {
      simulation.replay({ timeMs, clientId, route, cost, attributes }, form)
    })
  } finally {
    simulation.close()
  }
  return simulation
}

/**
 * Returns the policies that can apply to a check of the sample, or have the patterns of a change. A book of all policies would take long to
 * make. A policy that has expired since is among them, unless another one has its patterns now.
 */
async function concernedPolicies(
  { checks, sinceMs }: RecentSample,
  current: PolicyBook,
  changes: readonly Policy[],
  signal: AbortSignal | undefined,
): Promise<readonly Policy[]> {
  const found = new Set<Policy>()
  await inTurns(checks, signal, ({ clientId, route, attributes }) => {
    for (const policy of current.matching(clientId, route, attributes)) found.add(policy)
  })
  for (const change of changes) {
    const other = current.alike(change)
    if (other !== undefined) found.add(other)
  }
  for (const policy of current.expiredSince(sinceMs)) if (current.alike(policy) === undefined) found.add(policy)
  return [...found]
}

/** Returns a book by the clock of the log. Policies of the file become policies of the API, so that they can be changed. */
function copyOf(policies: readonly Policy[], clock: LogClock): PolicyBook {
  const book = new PolicyBook(() => clock.now())
  book.replaceApiPolicies(policies)
  return book
}

/** Throws if the signal is aborted between two turns. */
async function inTurns<T>(items: readonly T[], signal: AbortSignal | undefined, work: (item: T) => void): Promise<void> {
  let endMs = 0
  for (const item of items) {
    if (performance.now() >= endMs) {
      await setImmediate()
      signal?.throwIfAborted()
      endMs = performance.now() + TURN_MS
    }
    work(item)
  }
}
