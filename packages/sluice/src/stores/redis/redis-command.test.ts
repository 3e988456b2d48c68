import { describe, expect, test } from 'vitest'
import type { Operation } from '../../core/call.ts'
import type { Rule } from '../../core/rule.ts'
import { fixedWindow, tokenBucket } from '../../index.ts'
import { everyRule } from '../../testing/index.ts'
import { describeRules, type RedisCall, RedisCommand } from './redis-command.ts'
import { RedisKeys } from './redis-keys.ts'
import { GENERAL_PROGRAM, smallProgram } from './redis-programs.ts'

const keys = new RedisKeys('p')
const window = fixedWindow({ limit: 5, window: '1s', name: 'w' })
const bucket = tokenBucket({ capacity: 5, refill: 1, every: '1s', name: 'b' })
const WINDOW = ['plain-fixed-window', '5', '1000']

function callOf(rules: readonly Rule[], key: string, amounts: readonly number[], operation: Operation = 'hit'): RedisCall {
  return {
    operation,
    charges: rules.map((_, rule) => ({ rule, key, amount: amounts[rule] })),
    rules: describeRules(rules, keys),
  }
}

describe('the program', () => {
  test('is a small one for hits that all have the same rules', () => {
    const command = new RedisCommand([callOf([window], 'ada', [1]), callOf([window], 'bob', [2])], keys)
    expect(command.program).toBe(smallProgram([window]))
    expect(new RedisCommand([callOf([window, bucket], 'ada', [1, 1])], keys).program).toBe(smallProgram([bucket, window]))
  })

  test.each([
    ['other rules', callOf([bucket], 'bob', [1])],
    ['other parameters', callOf([fixedWindow({ limit: 6, window: '1s', name: 'w' })], 'bob', [1])],
    ['another operation', callOf([window], 'bob', [1], 'peek')],
    ['a hit that tells the time', callOf([window], 'bob', [1], 'timedHit')],
  ])('is the general one for calls that differ: %s', (_, other) => {
    expect(new RedisCommand([callOf([window], 'ada', [1]), other], keys).program).toBe(GENERAL_PROGRAM)
  })
})

describe('the arguments', () => {
  const note = { name: 'note', bit: 7, value: 1 } as const
  const command = new RedisCommand([callOf([window], 'ada', [1]), callOf([window], 'bob', [1])], keys)
  const names = ['p:1:{ada}:fixed-window:w', 'p:1:{bob}:fixed-window:w']

  test('declare all names, behind a header that is as short as can be', () => {
    expect(command.names).toEqual(names)
    expect(command.arguments()).toEqual(['2', ...names, ...WINDOW])
  })

  test('have the time and the entry of the note in the header, and the note as the last key', () => {
    expect(command.arguments({ note })).toEqual(['3', ...names, 'note', '1', '7', ...WINDOW])
    const sent = command.arguments({ nowMs: 5, note })
    expect(sent).toEqual(['3', ...names, 'note', 'x', '0', '5', '1', '7', ...WINDOW])
    expect(command.arguments({ nowMs: 5 })).toEqual(['2', ...names, 'x', '0', '5', '', ...WINDOW])
  })

  test('have the names behind the rest, if no key is declared', () => {
    const sent = command.arguments({ isUndeclared: true })
    expect(sent).toEqual(['0', 'n', '5', ...WINDOW, ...names])
    expect(command.arguments({ isUndeclared: true, nowMs: 5 }).slice(0, 5)).toEqual(['0', 'x', '7', '5', ''])
  })

  test('without a header begin with a word that no header begins with', () => {
    for (const each of everyRule()) {
      const rule = each.around?.(0) ?? each
      for (const operation of ['hit', 'get'] as const) {
        for (const [rules, amounts] of [
          [[rule], [1]],
          [[rule], [0]],
          [
            [rule, window],
            [1, 0],
          ],
        ] as const) {
          const sent = new RedisCommand([callOf(rules, 'ada', amounts, operation)], keys).arguments()
          expect(['0', '1', 'n', 'x']).not.toContain(sent[1 + rules.length])
        }
      }
    }
  })

  test('have a prefix before each name that the client does not add', () => {
    const prefixed = names.map((name) => `app:${name}`)
    expect(command.arguments({ keyPrefix: 'app:' }).slice(1, 3)).toEqual(prefixed)
    expect(command.arguments({ keyPrefix: 'app:', isUndeclared: true }).slice(-2)).toEqual(prefixed)
  })

  test('have the cost of each charge if costs differ', () => {
    const calls = [callOf([window, window], 'ada', [1, 1]), callOf([window, window], 'bob', [1, 3])]
    expect(new RedisCommand(calls, keys).arguments().slice(5)).toEqual(['=', '', '2', ...WINDOW, ...WINDOW, '1', '1', '1', '3'])
  })

  test.each([
    ['=', 'one key', ['org', 'org']],
    ['*', 'several keys', ['user', 'org']],
  ])('begin with %s if the rules of a hit have %s', (kind, _, [first, second]) => {
    const rules = [first, second].map((per) => fixedWindow({ limit: 5, window: 1000, per }))
    expect(new RedisCommand([callOf(rules, 'ada', [1, 1])], keys).arguments()[3]).toBe(kind)
  })

  test('begin with * if hits on one key share only some of their rules', () => {
    const rules = ['a', 'b', 'c'].map((name) => fixedWindow({ limit: 5, window: '1s', name }))
    const hits = [
      [rules[0], rules[1]],
      [rules[2], rules[1]],
    ].map((both) => callOf(both, 'ada', [1, 1]))
    expect(new RedisCommand(hits, keys).arguments()[5]).toBe('*')
    expect(new RedisCommand([hits[0], callOf([rules[0], rules[1]], 'ada', [1, 1])], keys).arguments()[5]).toBe('=')
  })

  test('of the general program are runs of calls that differ only in their names', () => {
    const calls = [
      ...['ada', 'bob'].map((key) => callOf([window], key, [1])),
      callOf([window], 'eve', [0], 'get'),
      callOf([window, bucket], 'eve', [1, 2]),
    ]
    const [json] = new RedisCommand(calls, keys).arguments().slice(-1)
    expect(JSON.parse(json)).toMatchObject({
      sets: [
        ['1', ...WINDOW],
        ['2', ...WINDOW, 'meter', '5', '1000', '1', '1', expect.any(String), expect.any(String)],
      ],
      runs: ['hit', 1, 1, 2, 'get', 1, 0, 1, 'hit', 2, [1, 2], 1],
    })
  })

  test('of the general program are runs of calls about holds that differ only in names and ids', () => {
    const callAbout = (operation: 'reserve' | 'settle', id: number, amount: number, ttlMs = 1000): RedisCall => ({
      operation,
      charges: [{ rule: 0, key: 'ada', amount, ...(operation === 'reserve' && { least: amount }) }],
      hold: { id, ttlMs, isCharged: true, most: 9 },
      rules: describeRules([window], keys),
    })
    const calls = [
      callAbout('reserve', 11, 2),
      callAbout('reserve', 12, 2),
      callAbout('reserve', 13, 3),
      callAbout('reserve', 14, 3, 2000),
      callAbout('settle', 11, 3, 2000),
      callAbout('settle', 12, 3, 2000),
      callAbout('reserve', 15, 2),
    ]
    const [json] = new RedisCommand(calls, keys).arguments().slice(-1)
    expect(JSON.parse(json)).toMatchObject({
      runs: ['reserve', 1, 1, 2, 'reserve', 1, 2, 1, 'reserve', 1, 3, 1, 'settle', 1, 4, 2, 'reserve', 1, 1, 1],
      terms: [
        [2, 2, 1000, 1, 9],
        [3, 3, 1000, 1, 9],
        [3, 3, 2000, 1, 9],
        [3, 2000],
      ],
      ids: [11, 12, 13, 14, 11, 12, 15],
    })
  })
})
