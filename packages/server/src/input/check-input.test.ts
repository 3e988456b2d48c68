import fc from 'fast-check'
import Type from 'typebox'
import { Value } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../test/rounds.ts'
import { ConfigFileSchema } from '../config/config-file.ts'
import { Reserve } from '../contract/hold-schemas.ts'
import { ServerError } from '../errors.ts'
import { KeyRecordSchema } from '../keys/api-key.ts'
import { PolicySpecSchema } from '../policies/policy-schema.ts'
import { checkInput, problemsIn } from './check-input.ts'

const Shape = Type.Object(
  {
    kind: Type.Enum(['cat', 'dog']),
    legs: Type.Integer({ minimum: 1, maximum: 100 }),
    tags: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 5 }), { minItems: 1, maxItems: 2 })),
    home: Type.Optional(
      Type.Union([
        Type.String({ pattern: '^[a-z]+$', title: 'a street in small letters' }),
        Type.Object({ type: Type.Literal('tent'), poles: Type.Integer() }, { additionalProperties: false }),
        Type.Object({ type: Type.Literal('boat'), sails: Type.Boolean() }, { additionalProperties: false }),
      ]),
    ),
  },
  { additionalProperties: false },
)

const messages = (value: unknown): string[] => problemsIn(Shape, value).map(({ message }) => message)

describe('problems are reported with their place and the expected form', () => {
  test.each<[unknown, string]>([
    [5, 'it must be an object, got 5'],
    [[], 'it must be an object, got a list'],
    [{ kind: 'cat' }, 'legs is missing: it must be a whole number from 1 to 100'],
    [{ kind: 'cat', legs: 0 }, 'legs must be a whole number from 1 to 100, got 0'],
    [{ kind: 'cat', legs: 4.5 }, 'legs must be a whole number from 1 to 100, got 4.5'],
    [{ kind: 'cat', legs: '4' }, 'legs must be a whole number from 1 to 100, got "4"'],
    [{ kind: 'bird', legs: 4 }, 'kind must be "cat" or "dog", got "bird"'],
    [{ kind: 'dogg', legs: 4 }, 'kind must be "cat" or "dog", got "dogg": did you mean dog?'],
    [{ kind: 'cat', legs: 4, lges: 1 }, 'it has no "lges": did you mean legs?'],
    [{ kind: 'cat', legs: 4, wings: 1 }, 'it has no "wings": known names are kind, legs, tags, home'],
    [{ kind: 'cat', legs: 4, tags: [] }, 'tags must be a list of 1 to 2, and has 0'],
    [{ kind: 'cat', legs: 4, tags: ['a', 7] }, 'tags[1] must be text of 1 to 5 characters, got 7'],
    [{ kind: 'cat', legs: 4, home: 'X' }, 'home must be a street in small letters, got "X"'],
    [{ kind: 'cat', legs: 4, home: {} }, 'home.type is missing: it must be "tent" or "boat"'],
    [{ kind: 'cat', legs: 4, home: { type: 'bat' } }, 'home.type must be "tent" or "boat", got "bat": did you mean boat?'],
    [{ kind: 'cat', legs: 4, home: { type: 'tent', pole: 3 } }, 'home has no "pole": did you mean poles?'],
    [{ kind: 'cat', legs: 4, home: 3 }, 'home must be a street in small letters, or an object, or an object, got 3'],
  ])('%j: %s', (value, message) => {
    expect(messages(value)).toContain(message)
  })

  test('all problems at once', () => {
    expect(messages({ kind: 1, legs: -1, x: 1 })).toHaveLength(3)
  })

  test('in an error with the first problem in its message and all in its problems', () => {
    const check = (): void => checkInput(Shape, { legs: 0 }, 'the animal')
    expect(check).toThrow(ServerError)
    expect(check).toThrow('the animal: kind is missing: it must be "cat" or "dog" (and 1 more)')
    expect(check).toThrow(expect.objectContaining({ code: 'ERR_INPUT', status: 400 }))
    expect(() => checkInput(Shape, { kind: 'cat', legs: 4 }, 'the animal')).not.toThrow()
  })

  test('names that every object inherits are unknown names like any other', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      const value = JSON.parse(`{ "kind": "cat", "legs": 4, "${name}": 1 }`)
      expect(problemsIn(Shape, value).map(({ at }) => at)).toEqual([name])
    }
  })
})

/** Values that are almost valid: JSON made of the schema's own words, numbers and forms. */
function nearly(words: readonly string[]) {
  const leaf = fc.oneof(
    fc.constantFrom(...words),
    fc.constantFrom('100/minute', '1m', '*', '/v1/*', 'rule-1', '', 'a\u0000b', '0'.repeat(64)),
    fc.integer({ min: -2, max: 200 }),
    fc.constantFrom(0.5, 2 ** 47, 2 ** 47 + 1, Number.MAX_SAFE_INTEGER, 1e300, null, true, false),
  )
  return fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, leaf, fc.array(tie('value'), { maxLength: 3 }), tie('object')),
    object: fc.dictionary(fc.constantFrom(...words), tie('value'), { maxKeys: 8 }),
  })).value
}

describe('it finds a problem exactly where a validator finds one', () => {
  const schemas = { Shape, PolicySpecSchema, KeyRecordSchema, ConfigFileSchema, Reserve }
  const words = [...new Set([...JSON.stringify(schemas).matchAll(/"([a-zA-Z$-]{1,30})"/g)].map(([, word]) => word))]

  test.each(Object.entries(schemas))('%s', (_, schema) => {
    fc.assert(
      fc.property(nearly(words), (value) => {
        expect(problemsIn(schema, value).length === 0).toBe(Value.Check(schema, value))
      }),
      { numRuns: roundsOf({ usual: 1000, long: 20_000 }) },
    )
  })

  test('PolicySpecSchema, for valid values with one change', () => {
    const rule = fc.constantFrom<object | string>(
      '100/minute',
      { algorithm: 'fixed-window', limit: 5, window: '1m', anchor: 'clock', name: 'a' },
      { algorithm: 'sliding-log', limit: 5, window: 1000 },
      { algorithm: 'sliding-window', limit: 5, window: 1000, round: 'none' },
      { algorithm: 'token-bucket', capacity: 5, refill: 1, every: '1s', style: 'stepped' },
      { algorithm: 'gcra', limit: 5, period: '1s', burst: 2 },
      { algorithm: 'leaky-bucket', capacity: 5, leak: 1, every: '1s' },
    )
    const spec = fc.record(
      {
        name: fc.constantFrom('a', 'A.b_c:d-1'),
        client: fc.constantFrom('acme', 'acme*', '*'),
        route: fc.constantFrom('/v1', '/v1/*'),
        rules: fc.oneof(rule, fc.array(rule, { minLength: 1, maxLength: 3 })),
        mode: fc.constantFrom('enforce', 'shadow', 'off'),
        scope: fc.constantFrom('route', 'policy'),
      },
      { requiredKeys: ['name', 'rules'] },
    )
    const change = fc.record({ path: fc.array(fc.nat(9), { maxLength: 4 }), to: nearly(words) })
    fc.assert(
      fc.property(spec, fc.option(change), (value, changed) => {
        const copy = structuredClone(value) as Record<string, unknown>
        if (changed !== null) replaceAt(copy, changed.path, changed.to)
        expect(problemsIn(PolicySpecSchema, copy).length === 0).toBe(Value.Check(PolicySpecSchema, copy))
      }),
      { numRuns: roundsOf({ usual: 1000, long: 20_000 }) },
    )
  })
})

/** Follows the path as far as it exists, and puts `to` at its end. */
function replaceAt(value: Record<string, unknown>, path: readonly number[], to: unknown): void {
  const keys = Object.keys(value)
  const key = keys[(path[0] ?? 0) % keys.length]
  if (key === undefined) return
  const inner = value[key]
  if (path.length > 1 && inner !== null && typeof inner === 'object')
    replaceAt(inner as Record<string, unknown>, path.slice(1), to)
  else value[key] = to
}
