// One sentence on the health of the service, from the last minute and the condition of the store.
// Invariant: if several things are wrong, the sentence names the worst.

import { type Counts, checksOf, type Stats, type Status, type Top } from '../../api/answers.ts'
import { sum } from '../../charts/buckets.ts'
import type { Summary } from '../../controls/summary.ts'
import { fullCount, howMany, shareText } from '../../words/count-text.ts'

export interface HealthSummary extends Summary {
  /** The most affected clients. */
  readonly clients: readonly string[]
}

const MINUTE = 60

/** From this share of denied checks on, the summary warns. */
const MANY_DENIED = 0.1

export function lastMinute(stats: Stats): Counts {
  const { seconds } = stats
  // The current second is included, so that a change is visible at once.
  const of = (counts: readonly number[]) => sum(counts, seconds - MINUTE, seconds)
  return {
    allowed: of(stats.allowed),
    denied: of(stats.denied),
    shadow_denied: of(stats.shadow_denied),
    errors: of(stats.errors),
  }
}

const STAND_INS: Readonly<Record<Status['store']['failure_mode'], string>> = {
  local: 'Each instance counts for itself until it is back.',
  allow: 'Everything is allowed until it is back.',
  deny: 'Everything is denied until it is back.',
  throw: 'Checks fail until it is back.',
}

export function healthSummary(stats: Stats, status: Status, denied: Top): HealthSummary {
  const counts = lastMinute(stats)
  const all = checksOf(counts)
  const checks = howMany(all, 'check')
  const { store } = status
  if (!store.up) {
    const asked = store.breaker_open ? 'It failed so often that it is only asked now and then. ' : ''
    return { tone: 'bad', title: 'The store does not answer', text: `${asked}${STAND_INS[store.failure_mode]}`, clients: [] }
  }
  if (counts.errors > 0) {
    return {
      tone: 'bad',
      title: `${howMany(counts.errors, 'check')} could not be decided`,
      text: `Of ${checks} in the last minute.`,
      clients: [],
    }
  }
  if (counts.denied > 0) {
    const clients = denied.clients.slice(0, 3).map(({ client_id }) => client_id)
    const isMany = counts.denied >= MANY_DENIED * all
    const title = isMany ? `${shareText(counts.denied, all)} of checks are denied` : 'A few checks are denied'
    return {
      tone: isMany ? 'warn' : 'good',
      title,
      text: `${howMany(counts.denied, 'check')} of ${fullCount(all)} in the last minute.`,
      clients,
    }
  }
  if (all === 0) return { tone: 'good', title: 'All is quiet', text: 'No check came in the last minute.', clients: [] }
  return { tone: 'good', title: 'All is well', text: `${checks} in the last minute, and none was denied.`, clients: [] }
}
