import { expect, test } from 'vitest'
import { changeText, proposedOf, refusalText, sampleText } from './last-hour-words.ts'

const SAMPLE = { instance: 'web-1', instances_up: 1, decided: 40, share: 1, missed: 0, since: '2027-01-15T08:00:00Z' }
const NONE = { denied_before: 0, newly_denied: 0, newly_allowed: 0, clients_newly_denied: 0, clients_newly_allowed: 0 }

test('a change is said in one sentence', () => {
  const said = (change: Partial<typeof NONE>, requests = 40) => changeText({ requests, change: { ...NONE, ...change } })
  expect(said({})).toBe('All 40 checks would be answered as they are now.')
  expect(said({ newly_denied: 3, clients_newly_denied: 1 })).toBe('3 checks of 1 client would be newly denied.')
  expect(said({ newly_allowed: 1, clients_newly_allowed: 1 })).toBe('1 check of 1 client would be newly allowed.')
  const both = { newly_denied: 3, clients_newly_denied: 2, newly_allowed: 5, clients_newly_allowed: 4 }
  expect(said(both)).toBe('3 checks of 2 clients would be newly denied, and 5 checks of 4 clients newly allowed.')
  expect(said({}, 0)).toMatch(/^No check was decided/)
})

test('a sample tells its bound, its instance and what it lacks', () => {
  const [all, ...rest] = sampleText({ sample: SAMPLE, requests: 40, clients: 3 })
  expect(all).toMatch(/^40 checks of 3 clients under all policies, since \d\d:00:00\.$/)
  expect(rest).toHaveLength(1)
  const bounded = { ...SAMPLE, share: 0.25, missed: 7, decided: 4000, instances_up: 3 }
  const said = sampleText({ sample: bounded, requests: 1000, clients: 30 })
  expect(said[0]).toMatch(/^A sample: 1,000 checks .* of 4,000 that were decided\. It has one in 4 clients\.$/)
  expect(said[1]).toBe('7 checks of very busy clients did not fit.')
  expect(said[2]).toMatch(/^3 instances are up, .* those of web-1\.$/)
})

test('a policy in shadow mode is pictured as if it were enforced, and one without a name has one', () => {
  const spec = { name: '', client: '*', route: '/a', scope: 'route', rules: ['5/minute'] } as const
  expect(proposedOf({ ...spec, mode: 'shadow' })).toEqual({ ...spec, name: 'unnamed-policy', mode: 'enforce' })
  expect(proposedOf({ ...spec, name: 'a', mode: 'deny' })).toEqual({ ...spec, name: 'a', mode: 'deny' })
})

test('a refusal has the words of the service', () => {
  expect(refusalText({ message: 'taken', problems: [] })).toBe('taken')
  const problems = [
    { at: 'policies[0].route', message: 'policies[0].route must be set' },
    { at: '', message: 'and more' },
  ]
  expect(refusalText({ message: 'two problems', problems })).toBe('route must be set; and more')
})
