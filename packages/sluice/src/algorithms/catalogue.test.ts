import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import * as door from '../index.ts'
import { everyRule } from '../testing/example-rules.ts'
import { findRuleFacts, makeRule, type RuleSpec, ruleCatalogue } from './catalogue.ts'

describe.each(ruleCatalogue.map((facts) => [facts.algorithm, facts] as const))('%s', (algorithm, facts) => {
  const { call, make, options, rate, translation } = facts
  const forms = Object.entries(facts.forms).map(([form, given]) => ({ form, rule: make(given as never) }))

  test('is made by the function of the library that its facts name', () => {
    expect(door).toHaveProperty(call, make)
    expect(() => make('x' as never)).toThrow(new RegExp(`^${call} takes an object`))
  })

  test.each(options.filter(({ kind }) => kind !== 'duration'))('its function checks $name and names it', ({ name }) => {
    const wrong = { ...facts.example, [name]: 'no such value' }
    expect(() => make(wrong as never)).toThrow(
      expect.objectContaining({ code: 'ERR_RULE', option: name, value: 'no such value' }),
    )
  })

  test('its defaults are those of its function', () => {
    const { ...spelled } = facts.example as Record<string, unknown>
    for (const option of options) {
      if (option.kind === 'flag') spelled[option.name] = option.default
      if (option.kind === 'choice' && option.default !== undefined) spelled[option.name] = option.default
      if (option.kind === 'text' && option.default !== '') spelled[option.name] = option.default
      if (option.kind === 'units' && option.sameAs !== undefined) spelled[option.name] ??= spelled[option.sameAs]
    }
    expect(make(spelled as never).name).toBe(make(facts.example as never).name)
  })

  test('the options of its rate have the right kinds', () => {
    const kindOf = (wanted: string) => options.find(({ name }) => name === wanted)?.kind
    expect([rate.units, rate.every].map(kindOf)).toEqual(['units', rate.isCalendar ? 'choice' : 'duration'])
    if (rate.burst !== undefined) expect(kindOf(rate.burst)).toBe('units')
  })

  test.each(forms)('in the form $form, its parameters are those that the translation reads', ({ rule }) => {
    expect(translation.algorithms).toContain(rule.algorithm)
    const { parameters } = rule.around?.(0) ?? rule
    expect(Object.keys(parameters).sort()).toEqual([...translation.parameters].sort())
  })

  test('its translation is there, and reads every parameter', () => {
    const lua = readFileSync(new URL(translation.file, import.meta.url), 'utf8')
    expect(lua).toContain(`local function ${translation.define}()`)
    if (translation.shortWay !== undefined) expect(lua).toContain(`local function ${translation.shortWay}(`)
    const calls = readFileSync(new URL('../stores/redis/calls.lua', import.meta.url), 'utf8')
    for (const parameter of translation.parameters) expect(lua + calls).toMatch(new RegExp(`\\brule\\.${parameter}\\b`))
  })

  test('its help texts are the comments in the interface of its options, which editors show', () => {
    const source = readFileSync(new URL(`${algorithm}/${algorithm}.ts`, import.meta.url), 'utf8')
    const [, body] = /export interface \w+Options[^{]*\{\n([\s\S]*?)\n\}/.exec(source) ?? []
    for (const { name, help } of options) {
      const [, comment] = new RegExp(`/\\*\\*([^/]*)\\*/\\s+readonly ${name}\\??:`).exec(body) ?? []
      expect(
        comment
          ?.replace(/\s+(\* )?/g, ' ')
          .trim()
          .startsWith(help),
        `${name}: ${comment}`,
      ).toBe(true)
    }
  })

  test('it has a page beside it', () => {
    expect(existsSync(new URL(`${algorithm}/README.md`, import.meta.url))).toBe(true)
  })

  test('is found by its name, and made from data', () => {
    expect(findRuleFacts(algorithm)).toBe(facts)
    expect(makeRule({ algorithm, ...facts.example } as RuleSpec).name).toBe(make(facts.example as never).name)
  })
})

test('no two examples share a name, so that one limiter can have all of them', () => {
  const names = everyRule().map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})

test('the error about an unknown algorithm lists the known ones', () => {
  expect(() => makeRule({ algorithm: 'leeky-bucket' } as never)).toThrow(
    expect.objectContaining({ code: 'ERR_RULE', option: 'algorithm', message: expect.stringContaining('leaky-bucket') }),
  )
  expect(findRuleFacts('constructor')).toBeUndefined()
})
