import { expect, test } from 'vitest'
import { countText, instancesText, shadowText } from './shadow-words.ts'

test('the report says since when, and how much it would have denied', () => {
  expect(shadowText({ since: null, checks: 0, denied: 0 })).toBe('In shadow mode it has decided no check yet.')
  const since = '2027-01-15T08:00:00Z'
  expect(shadowText({ since, checks: 1, denied: 0 })).toMatch(
    /^Since .*2027, .* 1 check in shadow mode, and would have denied none/,
  )
  expect(shadowText({ since, checks: 400, denied: 2 })).toMatch(/ 400 checks .* would have denied 2 of them \(< 1%\)\.$/)
})

test('a count that may be too high is a range', () => {
  expect([countText(12, 0), countText(1200, 3)]).toEqual(['12', '1,197 to 1,200'])
})

test('instances are named by their number, and those that are missing are not hidden', () => {
  const one = { id: 'a', self: true, since: null, checks: 0, denied: 0 }
  const said = (more: object) => instancesText({ instances: [one], uncounted_instances: 0, problem: null, ...more })
  expect(said({})).toBe('Counts of one instance.')
  expect(said({ instances: [one, { ...one, id: 'b', self: false }] })).toBe('Sums of 2 instances.')
  expect(said({ uncounted_instances: 2 })).toMatch(/^Counts of one instance, without 2 instances that cannot tell/)
  expect(said({ problem: 'no answer' })).toBe('Counts of one instance only, because the others are not known now: no answer.')
})
