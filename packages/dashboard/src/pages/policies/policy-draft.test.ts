import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { PolicySpec } from '../../api/answers.ts'
import { runRule } from '../../lanes/run-rule.ts'
import { newRule } from '../../rules/rule-form.ts'
import { lineDiff } from './line-diff.ts'
import { draftOf, NEW_POLICY, perText, readEntries, readPer, specOf } from './policy-draft.ts'
import { policyLines } from './policy-yaml.ts'
import { ruleSummary } from './rule-summary.ts'
import { trialTraffic } from './trial-traffic.ts'

const SPEC: PolicySpec = {
  name: 'orders',
  client: 'free-*',
  route: '*',
  mode: 'shadow',
  scope: 'policy',
  rules: [
    '5/second; 100/minute',
    { algorithm: 'token-bucket', capacity: 20, refill: 10, every: '1s', style: 'stepped', name: 'burst' },
    { algorithm: 'gcra', limit: 10, period: 60_000 },
    { algorithm: 'gcra', limit: 10, period: '1m', burst: 3 },
    { algorithm: 'fixed-window', limit: 100, window: '1h', anchor: 'clock', countDenied: true },
    { algorithm: 'calendar-window', limit: 100, every: 'day' },
    { algorithm: 'calendar-window', limit: 9, every: 'month', startsOn: 15, timeZone: 'Europe/Berlin' },
    { algorithm: 'calendar-window', limit: 9, every: 'year', startsOn: '04-06 09:00' },
  ],
}

describe('a policy that is typed', () => {
  test('and not touched becomes the same policy', () => {
    expect(specOf(draftOf(SPEC))).toEqual(SPEC)
  })

  test('keeps conditions, keys, an end and a reason, and needs no rules to deny', () => {
    const { rules } = SPEC
    const layered: PolicySpec = {
      ...SPEC,
      where: { plan: 'free', region: 'eu*' },
      applies: 'always',
      per: ['org', 'route'],
      expires_at: '2027-01-31T08:00:00+01:00',
      reason: 'too many exports',
      show_reason: true,
      rules: [...(rules ?? []), { algorithm: 'gcra', limit: 10, period: '1m', per: [] }],
    }
    expect(specOf(draftOf(layered))).toEqual(layered)
    const block: PolicySpec = {
      name: 'block:ada',
      client: 'ada',
      route: '*',
      mode: 'deny',
      scope: 'route',
      applies: 'always',
      per: 'org',
    }
    expect(specOf(draftOf(block))).toEqual(block)
    expect(parse(policyLines(layered).join('\n'))).toEqual(layered)
    expect(parse(policyLines(block).join('\n'))).toEqual(block)
  })

  test('reads keys that are separated by commas', () => {
    expect(['org', ' org , route,', '', ' , '].map(readPer)).toEqual(['org', ['org', 'route'], [], []])
    expect([perText('org'), perText(['org', 'route']), perText([])]).toEqual(['org', 'org, route', ''])
  })

  test('has its rules made as the service makes them: by the library, named by their place', () => {
    const read = readEntries(draftOf(SPEC).rules)
    expect(read.flatMap(({ rules }) => rules.map(({ name }) => name))).toEqual([
      'rule-1',
      'rule-2',
      'burst',
      'rule-4',
      'rule-5',
      'rule-6',
      'rule-7',
      'rule-8',
      'rule-9',
    ])
    expect(read.every(({ problem }) => problem === undefined)).toBe(true)
  })

  test('shows the error of one rule, and keeps the others valid', () => {
    const [first, second] = readEntries([
      { kind: 'notation', text: '100 per fortnight' },
      { kind: 'options', name: '', draft: { algorithm: 'sliding-log', options: { limit: 'lots', window: '1m' } } },
    ])
    expect(first.problem).toMatch(/fortnight/)
    expect(second).toMatchObject({ wrong: 'limit', rules: [] })
    expect(readEntries(NEW_POLICY.rules)[0].problem).toBeUndefined()
  })

  test('may have a rule of limit 0, as in the service: it is saved as it is, and leaves nothing to count', () => {
    const closed = { kind: 'options', name: '', draft: newRule('fixed-window', { limit: '0', window: '1m' }) } as const
    const rules = [{ kind: 'notation', text: '5/second' }, closed] as const
    expect(readEntries(rules)).toMatchObject([
      { rules: [], isClosed: false, problem: undefined },
      { rules: [], isClosed: true, problem: undefined },
    ])
    expect(specOf({ ...NEW_POLICY, rules }).rules).toEqual(['5/second', { algorithm: 'fixed-window', limit: 0, window: '1m' }])
    expect(readEntries([{ kind: 'notation', text: '5/second; 0/minute' }])[0]).toMatchObject({
      isClosed: true,
      problem: undefined,
    })
    const wrong = { ...closed, draft: newRule('fixed-window', { limit: '0', window: 'soon' }) }
    expect(readEntries([wrong])[0]).toMatchObject({ wrong: 'window', isClosed: false })
    for (const text of ['0/fortnight', '0/second burst 5'])
      expect(readEntries([{ kind: 'notation', text }])[0].problem).toBeDefined()
  })
})

test('a policy as YAML is the same policy, for any names of client and route', () => {
  expect(parse(policyLines(SPEC).join('\n'))).toEqual(SPEC)
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1, unit: 'binary' }), (client, route) => {
      const spec = { ...SPEC, client, route }
      expect(parse(policyLines(spec).join('\n'))).toEqual(spec)
    }),
  )
})

test('a diff has all lines of both sides, in order, and marks no more than it must', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 8 })
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const diff = lineDiff(before, after)
      expect(diff.filter(({ kind }) => kind !== 'added').map(({ text }) => text)).toEqual(before)
      expect(diff.filter(({ kind }) => kind !== 'removed').map(({ text }) => text)).toEqual(after)
      if (before.join() === after.join()) expect(diff.every(({ kind }) => kind === 'kept')).toBe(true)
    }),
  )
  expect(lineDiff(['a', 'b', 'c'], ['a', 'x', 'c']).filter(({ kind }) => kind !== 'kept')).toHaveLength(2)
})

test('every rule has a summary', () => {
  expect(SPEC.rules?.map(ruleSummary)).toEqual([
    '5/second; 100/minute',
    'token bucket of 20, 10 every 1s',
    'GCRA 10 every 60000',
    'GCRA 10 every 1m, burst 3',
    'fixed window 100 every 1h',
    '100 every calendar day',
    '9 every calendar month from 15, Europe/Berlin',
    '9 every calendar year from 04-06 09:00',
  ])
})

test.each(['1/second', '100/minute', '1000000/day', '1000/calendar month', 'token-bucket 10/second burst 5000', 'gcra 1/hour'])(
  'traffic is made to the measure of %s: some passes, some does not',
  (text) => {
    const { rules } = readEntries([{ kind: 'notation', text }])[0]
    for (const shape of ['steady', 'bursts', 'retrying'] as const) {
      const { traffic, lengthMs, spanMs } = trialTraffic(rules, shape)
      const { allowed, denied, isCut } = runRule(rules, traffic, lengthMs, spanMs)
      expect(isCut).toBe(false)
      expect(allowed).toBeGreaterThan(0)
      if (shape === 'steady') expect(denied).toBeGreaterThan(0)
    }
  },
)
