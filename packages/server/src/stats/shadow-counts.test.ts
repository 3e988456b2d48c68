import { expect, test } from 'vitest'
import { MOST_POLICIES, ShadowReports } from './shadow-counts.ts'

const HOUR = 3_600_000

test('checks and denials are counted for each policy object', () => {
  const reports = new ShadowReports()
  const [first, changed] = [{ name: 'a' }, { name: 'a' }]
  reports.add(first, 'ada', undefined, 5)
  reports.add(first, 'ada', 'minute', 6)
  reports.add(first, 'bob', 'hour', 7)
  expect(reports.get(first)).toMatchObject({ sinceMs: 5, lastMs: 7, checks: 3, denied: 2 })
  expect(Object.fromEntries(reports.get(first)?.byRule ?? [])).toEqual({ minute: 1, hour: 1 })
  expect(reports.get(first)?.clients.get('ada')).toMatchObject({ count: 1, error: 0 })
  expect(reports.get(changed)).toBeUndefined()
})

test('the number of policies is bounded, and those without checks for an hour make space', () => {
  const reports = new ShadowReports()
  const policies = Array.from({ length: MOST_POLICIES + 1 }, (_, i) => ({ name: `p${i}` }))
  for (const policy of policies) reports.add(policy, 'ada', undefined, 0)
  expect(reports.size).toBe(MOST_POLICIES)
  expect(reports.get(policies[MOST_POLICIES])).toBeUndefined()
  for (const policy of policies.slice(1)) reports.add(policy, 'ada', undefined, HOUR)
  expect(reports.size).toBe(MOST_POLICIES)
  expect(reports.get(policies[0])).toBeUndefined()
  expect(reports.get(policies[MOST_POLICIES])).toMatchObject({ sinceMs: HOUR })
})
