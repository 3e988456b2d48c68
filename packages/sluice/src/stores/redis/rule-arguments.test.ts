import { expect, test } from 'vitest'
import { fixedWindow, type Rule, slidingLog, slidingWindow } from '../../index.ts'
import { programArguments } from './rule-arguments.ts'

const rule = fixedWindow({ limit: 5, window: '1s', anchor: 'clock' })

/** The rule with other parameters. */
const withParameters = (parameters: Rule['parameters']): Rule => Object.create(rule, { parameters: { value: parameters } })

test('the arguments of a rule are its algorithm and its parameters, in the order of its translation', () => {
  const reversed = Object.fromEntries(Object.entries(rule.parameters).reverse())
  for (const each of [rule, withParameters(reversed)]) {
    expect(programArguments(each)).toEqual(['fixed-window', '5', '1000', '1', '0', '0'])
  }
})

test('the arguments of a rule without a flag that is set have no flags, and the algorithm is called plain', () => {
  expect(programArguments(fixedWindow({ limit: 5, window: '1s' }))).toEqual(['plain-fixed-window', '5', '1000'])
  expect(programArguments(slidingWindow({ limit: 5, window: '1s' }))).toEqual([
    'plain-sliding-window',
    '5',
    '1000',
    expect.any(String),
  ])
  expect(programArguments(withParameters({ ...rule.parameters, isOnClock: false }))).toEqual(['plain-fixed-window', '5', '1000'])
  expect(programArguments(slidingLog({ limit: 5, window: '1s' }))).toEqual(['sliding-log', '5', '1000'])
})

test('a parameter that is missing, and one that the translation does not read, are refused by name', () => {
  const { elastic: _, ...fewer } = rule.parameters
  expect(() => programArguments(withParameters(fewer))).toThrow(/parameters limit, windowMs, .* not so with elastic$/)
  expect(() => programArguments(withParameters({ ...rule.parameters, colour: 1 }))).toThrow(/not so with colour$/)
})

test.each(['constructor', 'leaky-bucket'])('an algorithm that the program has no translation of is refused: %s', (algorithm) => {
  const unknown: Rule = Object.create(rule, { algorithm: { value: algorithm } })
  expect(() => programArguments(unknown)).toThrow(expect.objectContaining({ code: 'ERR_RULE' }))
})
