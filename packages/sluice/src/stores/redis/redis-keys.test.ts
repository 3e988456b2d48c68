import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { runs } from '../../../test/rule-promises.ts'
import { fixedWindow, type Rule, slidingLog } from '../../index.ts'
import { slotOf } from './hash-slot.ts'
import { RedisKeys } from './redis-keys.ts'

/** Any string of JavaScript, also with lone surrogates. Characters that have a meaning in a name are frequent. */
const unit = fc.oneof(
  fc.constantFrom(...'%{}:h01259af', '%0025', '%h', '\ud83d', '\ude00', '\ufffd', '\r\n', '__proto__'),
  fc.nat(0xffff).map((code) => String.fromCharCode(code)),
)
const text = (maxLength: number) => fc.array(unit, { minLength: 1, maxLength }).map((units) => units.join('').slice(0, 256))
const key = fc.oneof(
  text(6),
  text(200),
  fc.nat(12_000).map((length) => 'x'.repeat(1 + length)),
)
const prefix = text(6).filter((candidate) => !/[{}]|\p{Cs}/u.test(candidate))
const per = fc.option(fc.uniqueArray(fc.constantFrom('a', 'b', 'a.b', 'fixed-window', '_'), { maxLength: 3 }), { nil: undefined })
const name = (maxLength: number) =>
  fc.tuple(fc.constantFrom('', 'fixed-window:', '@a:'), text(maxLength)).map((pieces) => pieces.join('').slice(0, 256))
const rule: fc.Arbitrary<Rule> = fc.oneof(
  fc.tuple(name(6), per).map(([name, per]) => fixedWindow({ limit: 1, window: 1, name, per })),
  fc.tuple(name(200), per).map(([name, per]) => slidingLog({ limit: 1, window: 1, name, per })),
)

function nameOf(prefix: string, key: string, rule: Rule): string {
  const keys = new RedisKeys(prefix)
  return keys.startOf(key) + keys.endOf(rule)
}

/** The bytes that Redis gets for a text. All lone surrogates have the same bytes. */
const bytesOf = (name: string) => Buffer.from(name).toString('latin1')

/** Decodes a name, for texts that are not hashed. */
const decode = (written: string) =>
  written.replace(/%([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

describe('names of states', () => {
  test('can be read back, so no two states share one', () => {
    fc.assert(
      fc.property(prefix, text(20), text(20), (prefix, key, name) => {
        const seen = Buffer.from(nameOf(prefix, key, fixedWindow({ limit: 1, window: 1, name }))).toString()
        const [, start, tag, rest] = /^([^{}]*):1:\{([^{}]+)\}:fixed-window:([^{}]*)$/s.exec(seen) ?? []
        expect([start, decode(tag), decode(rest)]).toEqual([prefix, key, name])
      }),
      runs(1000),
    )
  })

  test('contain the algorithm once, also if the name of the rule contains it', () => {
    const ends = ['five', 'fixed-window:five', 'fixed-window:fixed-window:five', ':five'].map((name) =>
      new RedisKeys('p').endOf(fixedWindow({ limit: 5, window: '1m', name })),
    )
    expect(ends).toEqual([
      '}:fixed-window:five',
      '}::fixed-window:five',
      '}::fixed-window:fixed-window:five',
      '}:fixed-window::five',
    ])
  })

  test('contain the names of the keys that the rule counts by', () => {
    const ends = [undefined, 'user', ['user', 'org'], []].flatMap((per) =>
      ['five', 'fixed-window:five'].map((name) => new RedisKeys('p').endOf(fixedWindow({ limit: 5, window: '1m', name, per }))),
    )
    expect(ends).toEqual([
      '}:fixed-window:five',
      '}::fixed-window:five',
      '}:fixed-window@user:five',
      '}:@user:fixed-window:five',
      '}:fixed-window@org,user:five',
      '}:@org,user:fixed-window:five',
      '}:fixed-window@:five',
      '}:@:fixed-window:five',
    ])
  })

  test('differ where prefix, key, algorithm, rule or its keys do, hashed or not', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(prefix, key, rule), { minLength: 2, maxLength: 30 }), (states) => {
        const different = new Set(
          states.map(([prefix, key, rule]) => JSON.stringify([prefix, key, rule.algorithm, rule.name, rule.per])),
        )
        expect(new Set(states.map((state) => bytesOf(nameOf(...state)))).size).toBe(different.size)
      }),
      runs(300),
    )
  })

  test('a text that looks like an escape or a hash is not taken for one', () => {
    const long = 'x'.repeat(200)
    const hashed = nameOf('p', long, fixedWindow({ limit: 1, window: 1 }))
      .slice('p:1:{'.length)
      .split('}')[0]
    expect(hashed).toMatch(/^%h[0-9a-f]{32}$/)
    const lookalikes = [long, hashed, `%0025h${hashed.slice(2)}`, '%', '%0025', '%00250025', '\ufffd', '\ud83d', '%d83d']
    expect(new Set(lookalikes.map((key) => new RedisKeys('p').startOf(key))).size).toBe(lookalikes.length)
  })

  test('a long key is written as its SHA-256, as the first version of the names does', () => {
    fc.assert(
      fc.property(fc.array(unit, { minLength: 129, maxLength: 300, size: 'max' }), (units) => {
        const long = units.join('')
        const name = `p:1:{%h${createHash('sha256').update(long, 'utf16le').digest('hex').slice(0, 32)}`
        expect(new RedisKeys('p').startOf(long)).toBe(name)
        const builtin = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined)
        expect(new RedisKeys('p').startOf(long), 'without the modules of Node').toBe(name)
        expect(builtin).toHaveBeenCalledOnce()
        builtin.mockRestore()
      }),
      runs(200),
    )
  })

  test('lie in a slot that depends on the key alone, the same for all rules of a hit', () => {
    fc.assert(
      fc.property(prefix, prefix, key, rule, rule, (prefix, otherPrefix, key, rule, otherRule) => {
        const name = nameOf(prefix, key, rule)
        expect([...name.matchAll(/[{}]/g)].map(String)).toEqual(['{', '}'])
        expect(slotOf(nameOf(otherPrefix, key, otherRule))).toBe(slotOf(name))
      }),
      runs(300),
    )
  })

  test('are short and fit on a line, whatever is in the key', () => {
    fc.assert(
      fc.property(key, rule, (key, rule) => {
        const name = nameOf('sluice', key, rule)
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(1400)
        // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression looks for control characters
        expect(name).not.toMatch(/[\u0000-\u001f\u007f]/)
      }),
      runs(300),
    )
  })

  test('a key of a mebibyte is named in a moment', () => {
    const key = 'é'.repeat(2 ** 20)
    const startedMs = performance.now()
    expect(nameOf('sluice', key, fixedWindow({ limit: 1, window: 1 })).length).toBeLessThan(80)
    expect(performance.now() - startedMs).toBeLessThan(1000)
  })
})

test('notes of what was executed share no name with a state, of whatever prefix', () => {
  const afterTag = (name: string) => name.slice(name.indexOf('}') + 1)
  fc.assert(
    fc.property(prefix, key, rule, (prefix, key, rule) => {
      expect(afterTag(nameOf(prefix, key, rule)).split(':').length).toBeGreaterThan(2)
    }),
    runs(100),
  )
  expect(afterTag(new RedisKeys('p').onceOf('01', 'sender'))).toBe(':sender')
})

test('a prefix that would move the hash tag, or would equal another in UTF-8, is refused', () => {
  for (const prefix of ['', '{', 'a}b', '{a}', '\ud83d', 'a\ude00', 42, null, undefined]) {
    expect(() => new RedisKeys(prefix as string), String(prefix)).toThrow(expect.objectContaining({ code: 'ERR_OPTION' }))
  }
})
