import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Rule } from '../../core/rule.ts'
import { exampleRule } from '../../testing/index.ts'
import { GENERAL_PROGRAM, smallProgram } from './redis-programs.ts'

const RULES = [
  exampleRule('fixed-window'),
  exampleRule('sliding-log'),
  exampleRule('sliding-window'),
  exampleRule('token-bucket'),
]

/** Every list of some of the rules, in their order. */
const LISTS: readonly (readonly Rule[])[] = Array.from({ length: 2 ** RULES.length - 1 }, (_, i) =>
  RULES.filter((_, bit) => ((i + 1) >> bit) % 2 === 1),
)

test('every program has the SHA-1 by which Redis knows it', () => {
  for (const { source, sha1 } of [GENERAL_PROGRAM, ...LISTS.map(smallProgram)]) {
    expect(createHash('sha1').update(source).digest('hex')).toBe(sha1)
  }
})

test('a small program has the translations of its rules, and no others', () => {
  const definitions = ['defineFixedWindow', 'defineSlidingLog', 'defineSlidingWindow', 'defineMeter']
  for (const rules of LISTS) {
    const { source } = smallProgram(rules)
    const has = definitions.filter((define) => source.includes(`local function ${define}()`))
    expect(has).toEqual(definitions.filter((_, i) => rules.includes(RULES[i])))
    expect(source).not.toContain('cjson.decode')
  }
})

test('the order and the number of rules make no other program', () => {
  const [window, , , bucket] = RULES
  expect(smallProgram([bucket, window, bucket])).toBe(smallProgram([window, bucket]))
})
