// Every rule can be made again from its algorithm and parameters, and decides alike.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Rule } from '../core/rule.ts'
import { everyRule } from '../testing/index.ts'
import { calendarWindow } from './calendar-window/calendar-window.ts'
import { gcra } from './gcra/gcra.ts'
import { ruleFromParameters } from './rule-from-parameters.ts'
import { tokenBucket } from './token-bucket/token-bucket.ts'

const NOW_MS = 1_763_193_637_123

/** The fields that a store or a definition reads, without names. */
function facts({ name, per, log, ...fields }: Rule): unknown {
  return { ...fields, hasLog: log !== undefined }
}

test.each(everyRule().map((rule) => [rule.name, rule.around?.(NOW_MS) ?? rule] as const))('%s', (_, rule) => {
  const sent = JSON.parse(JSON.stringify(rule.parameters))
  expect(facts(ruleFromParameters(rule.algorithm, sent))).toEqual(facts(rule))
})

test('meters of any size', () => {
  const units = fc.integer({ min: 1, max: 100_000 })
  fc.assert(
    fc.property(units, units, fc.integer({ min: 1, max: 10 ** 8 }), fc.boolean(), (capacity, refill, every, isStepped) => {
      const rule = tokenBucket({ capacity, refill, every, style: isStepped ? 'stepped' : 'smooth' })
      expect(facts(ruleFromParameters(rule.algorithm, rule.parameters))).toEqual(facts(rule))
    }),
  )
})

test('wide meters', () => {
  for (const style of ['smooth', 'stepped'] as const) {
    const rule = tokenBucket({ capacity: 3, refill: 2 ** 40 + 1, every: 2 ** 20, style })
    expect(rule.algorithm).toMatch(/^wide-/)
    expect(facts(ruleFromParameters(rule.algorithm, rule.parameters))).toEqual(facts(rule))
  }
})

describe('boundaries that no calendar has are refused', () => {
  const rule = calendarWindow({ limit: 3, every: 'week' })
  const { algorithm, parameters } = rule.around?.(NOW_MS) ?? rule
  const boundary = parameters.startOfThis as number
  test.each<[string, object]>([
    ['an end before the start', { startOfNext: boundary - 1 }],
    ['a window without length', { startOfNext: boundary }],
    ['a fraction', { startOfThis: boundary + 0.5 }],
    ['an infinite end', { endOfNext: null }],
    ['a time that Date does not have', { endOfNext: 8.64e15 + 1 }],
    ['a limit of 0', { limit: 0 }],
  ])('%s', (_, wrong) => {
    expect(() => ruleFromParameters(algorithm, { ...parameters, ...wrong })).toThrow(
      expect.objectContaining({ code: 'ERR_RULE' }),
    )
  })
})

describe('parameters that no rule has are refused', () => {
  const { algorithm, parameters } = gcra({ limit: 3, period: 900, burst: 5 })
  test.each<[string, unknown, unknown]>([
    ['an unknown algorithm', 'guess', parameters],
    ['a name of Object', 'constructor', parameters],
    ['no algorithm', undefined, parameters],
    ['the algorithm of another style', 'wide-meter', parameters],
    ['another rate', algorithm, { ...parameters, rate: 1 }],
    ['one more', algorithm, { ...parameters, x: 1 }],
    ['one less', algorithm, { limit: 3 }],
    ['a text', algorithm, { ...parameters, limit: '5' }],
    ['a fraction', algorithm, { ...parameters, limit: 0.5 }],
    ['nothing', algorithm, undefined],
    ['null', algorithm, null],
  ])('%s', (_, wrong, values) => {
    expect(() => ruleFromParameters(wrong as string, values as never)).toThrow(expect.objectContaining({ code: 'ERR_RULE' }))
  })
})
