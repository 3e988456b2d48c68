// A policy in shadow mode with counts, for tests of fleets.

import type { ShadowedPolicy } from '../src/fleet/published-shadows.ts'
import { ShadowReports } from '../src/stats/shadow-counts.ts'

export interface ShadowedOptions {
  readonly name?: string
  readonly etag?: string
  readonly rule?: string
  readonly sinceMs?: number
  /** Checks that were allowed. */
  readonly allowed?: number
}

/** `denied` has the denials of each client. */
export function shadowed(denied: Readonly<Record<string, number>>, options: ShadowedOptions = {}): ShadowedPolicy {
  const { name = 'trial', etag = '"1"', rule = 'rule-1', sinceMs = 1_800_000_000_000, allowed = 0 } = options
  const reports = new ShadowReports()
  const policy = { name }
  for (const [client, times] of Object.entries(denied)) {
    for (let i = 0; i < times; i++) reports.add(policy, client, rule, sinceMs)
  }
  for (let i = 0; i < allowed; i++) reports.add(policy, 'somebody', undefined, sinceMs)
  const counts = reports.get(policy)
  if (counts === undefined) throw new Error('no check was counted')
  return { name, etag, counts }
}
