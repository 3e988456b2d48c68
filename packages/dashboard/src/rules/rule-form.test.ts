import { everyRule } from 'sluice/testing'
import { expect, test } from 'vitest'
import { ALGORITHM_NAMES, ALGORITHMS } from './algorithm-forms.ts'
import { newRule, readRule, withAlgorithm } from './rule-form.ts'

test('every algorithm of the library has a form whose start values make a rule', () => {
  expect(new Set(ALGORITHM_NAMES.map((name) => readRule(newRule(name)).rule?.algorithm))).toEqual(
    new Set([
      ...everyRule()
        .map(({ algorithm }) => algorithm)
        .filter((algorithm) => algorithm !== 'stepped-meter'),
      'concurrency',
    ]),
  )
})

test.each(ALGORITHM_NAMES)('every option of %s reaches the library', (algorithm) => {
  const usual = readRule(newRule(algorithm)).rule?.name
  for (const { name, kind, choices, start, sample } of ALGORITHMS[algorithm].options) {
    const other =
      kind === 'units'
        ? '7'
        : kind === 'duration'
          ? '3s'
          : kind === 'flag'
            ? 'yes'
            : kind === 'text'
              ? sample
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

test('a calendar window is typed: a start by its period, and a time zone that the library knows', () => {
  const typed = newRule('calendar-window', { every: 'month', startsOn: '15', timeZone: ' Europe/Berlin ' })
  expect(readRule(typed)).toMatchObject({
    spec: { options: { limit: 10, every: 'month', startsOn: 15, timeZone: 'Europe/Berlin' } },
    problem: undefined,
  })
  // The period is written always, and other options only if they are not the default.
  expect(readRule(newRule('calendar-window')).spec.options).toEqual({ limit: 10, every: 'day' })
  expect(readRule(newRule('calendar-window', { timeZone: 'Europe/Berlim' }))).toMatchObject({
    rule: undefined,
    problem: `calendarWindow needs timeZone to be the name of a time zone that this runtime knows, such as 'Europe/Berlin', got "Europe/Berlim"`,
    wrong: 'timeZone',
  })
  expect(readRule(newRule('calendar-window', { every: 'week', startsOn: '15' }))).toMatchObject({ wrong: 'startsOn' })
  expect(readRule(newRule('calendar-window', { timeZone: '' }))).toMatchObject({ wrong: 'timeZone' })
})

test('a unit of the calendar is no duration, and does not become one', () => {
  const bucket = withAlgorithm(newRule('calendar-window', { limit: '30', every: 'month', startsOn: '15' }), 'token-bucket')
  expect(bucket.options).toMatchObject({ capacity: '30', refill: '30', every: '10s' })
  expect(readRule(bucket).problem).toBeUndefined()
  const calendar = withAlgorithm(bucket, 'calendar-window')
  expect(calendar.options).toEqual({ limit: '30', every: 'day', startsOn: '', timeZone: 'UTC' })
  expect(readRule(calendar).problem).toBeUndefined()
})

test('a rule keeps its rate when its algorithm changes', () => {
  const bucket = withAlgorithm(newRule('fixed-window', { limit: '30', window: '1m' }), 'token-bucket')
  expect(bucket.options).toMatchObject({ capacity: '30', refill: '30', every: '1m' })
  expect(withAlgorithm(bucket, 'gcra').options).toMatchObject({ limit: '30', period: '1m' })
  expect(withAlgorithm(withAlgorithm(bucket, 'gcra'), 'sliding-log').options).toEqual({ limit: '30', window: '1m' })
})
