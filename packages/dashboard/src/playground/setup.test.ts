import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ALGORITHM_NAMES, ALGORITHMS } from '../rules/algorithm-forms.ts'
import { newRule } from '../rules/rule-form.ts'
import { readSetup, type Setup, START_SETUP, setupAddress } from './setup.ts'
import { newTraffic, SHAPE_NAMES, SHAPES } from './traffic.ts'

const typed = (names: readonly string[]) => fc.record(Object.fromEntries(names.map((name) => [name, fc.string()])))

const anyRule = fc
  .constantFrom(...ALGORITHM_NAMES)
  .chain((name) => typed(ALGORITHMS[name].options.map((form) => form.name)).map((options) => newRule(name, options)))

const anyTraffic = fc
  .constantFrom(...SHAPE_NAMES)
  .chain((name) => typed(SHAPES[name].options.map((form) => form.name)).map((options) => newTraffic(name, options)))

const anySetup: fc.Arbitrary<Setup> = fc.record({
  length: fc.string(),
  span: fc.string(),
  traffic: anyTraffic,
  rules: fc.array(anyRule, { minLength: 1, maxLength: 4 }),
})

test('an address holds a whole set-up, with any typed text', () => {
  fc.assert(
    fc.property(anySetup, (setup) => {
      expect(readSetup(setupAddress(setup))).toEqual(setup)
    }),
  )
})

test('an address can be read by people', () => {
  expect(setupAddress(START_SETUP)).toBe(
    'length=60s&span=10s&traffic=bursts&rule=fixed-window:anchor=clock&rule=sliding-log&rule=sliding-window&rule=token-bucket',
  )
})

test('no address is the set-up to start with', () => {
  expect(readSetup('')).toBe(START_SETUP)
})

test.each([
  ['rule=round-robin', /no algorithm is called 'round-robin'/],
  ['rule=__proto__', /no algorithm/],
  ['rule=gcra:colour=red', /no option is called 'colour'/],
  ['traffic=floods&rule=gcra', /no traffic is called 'floods'/],
  ['length=5s', /1 to 4 rules, and this has 0/],
  [Array(5).fill('rule=gcra').join('&'), /this has 5/],
  ['what', /'what' is no part of a set-up/],
  ['rule=%', /URI/],
])('%s is said to be unreadable', (address, message) => {
  expect(() => readSetup(address)).toThrow(message)
})
