import { expect, test } from 'vitest'
import { attribute, collect, durationMs, timeFrom, wholeNumber } from './arguments.ts'

test('whole numbers', () => {
  expect(wholeNumber(1)('12')).toBe(12)
  for (const bad of ['0', '-1', '1.5', '1e3', '', ' 1', '0x10', '99999999999999999']) {
    expect(() => wholeNumber(1)(bad), bad).toThrow('It must be a whole number from 1 to')
  }
})

test('durations and times', () => {
  expect([durationMs('30s'), durationMs('15m'), durationMs('12h'), durationMs('90d')]).toEqual([
    30_000, 900_000, 43_200_000, 7_776_000_000,
  ])
  for (const bad of ['90', 'd', '1w', '-1d', '1.5h']) expect(() => durationMs(bad), bad).toThrow('It must be a duration such as')
  const read = timeFrom(() => 1_000_000)
  expect(read('2s').getTime()).toBe(1_002_000)
  expect(read('2027-01-31T00:00:00Z').toISOString()).toBe('2027-01-31T00:00:00.000Z')
  for (const past of ['0s', '1970-01-01T00:16:40Z', '1970-01-01T00:00:00Z']) {
    expect(() => read(past), past).toThrow('It must be in the future.')
  }
  for (const bad of ['soon', 'tomorrow 2050', '2050', '2027-02-30', '2027-02-30T00:00:00Z', '2027-01-31T25:00Z', '31.01.2027']) {
    expect(() => read(bad), bad).toThrow('It must be a time such as')
  }
})

test('attributes are named once', () => {
  const read = (...texts: string[]) =>
    texts.reduce((before: Readonly<Record<string, string>> = {}, text) => attribute(text, before), {})
  expect(read('plan=free', 'org=a=b', 'constructor=')).toEqual({ plan: 'free', org: 'a=b', constructor: '' })
  expect(() => read('plan=free', 'plan=pro')).toThrow('It names plan a second time.')
  for (const bad of ['plan', '=free', '']) expect(() => read(bad), bad).toThrow('It must be a name and a value')
})

test('options that may be repeated', () => {
  expect(['a', 'b'].reduce((before: readonly string[] | undefined, text) => collect(text, before), undefined)).toEqual(['a', 'b'])
})
