import { everyRule } from 'sluice/testing'
import { expect, test } from 'vitest'
import { ALGORITHM_NAMES, ALGORITHMS } from './algorithm-forms.ts'
import { newRule, readRule, withAlgorithm } from './rule-form.ts'

test('every algorithm of the library has a form whose start values make a rule', () => {
  expect(new Set(ALGORITHM_NAMES.map((name) => readRule(newRule(name)).rule?.algorithm))).toEqual(
    new Set(
      everyRule()
        .map(({ algorithm }) => algorithm)
        .filter((algorithm) => algorithm !== 'stepped-meter'),
    ),
  )
})

test.each(ALGORITHM_NAMES)('every option of %s reaches the library', (algorithm) => {
  const usual = readRule(newRule(algorithm)).rule?.name
  for (const { name, kind, choices, start } of ALGORITHMS[algorithm].options) {
    const other =
      kind === 'units'
        ? '7'
        : kind === 'duration'
          ? '3s'
          : kind === 'flag'
            ? 'yes'
            : choices?.find(([value]) => value !== start)?.[0]
    const changed = readRule(newRule(algorithm, { [name]: String(other) }))
    expect(changed.problem).toBeUndefined()
    expect(changed.rule?.name).not.toBe(usual)
  }
})

test('what the library refuses is told in its words, at the field that it names', () => {
  expect(readRule(newRule('fixed-window', { limit: 'lots' }))).toMatchObject({
    rule: undefined,
    problem: 'fixedWindow needs limit to be a whole number of at least 1, got "lots"',
    wrong: 'limit',
  })
  expect(readRule(newRule('token-bucket', { every: '1 s' }))).toMatchObject({ rule: undefined, wrong: 'every' })
  expect(readRule(newRule('fixed-window', { anchor: 'clock', elastic: 'yes' })).problem).toMatch(/elastic with anchor/)
})

test('a rule keeps its rate when its algorithm changes', () => {
  const bucket = withAlgorithm(newRule('fixed-window', { limit: '30', window: '1m' }), 'token-bucket')
  expect(bucket.options).toMatchObject({ capacity: '30', refill: '30', every: '1m' })
  expect(withAlgorithm(bucket, 'gcra').options).toMatchObject({ limit: '30', period: '1m' })
  expect(withAlgorithm(withAlgorithm(bucket, 'gcra'), 'sliding-log').options).toEqual({ limit: '30', window: '1m' })
})
