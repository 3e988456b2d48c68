import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { type Policy, type PolicySpec, readPolicy } from './policy.ts'
import { PolicyBook } from './policy-book.ts'
import type { Attributes } from './request-facts.ts'

const policy = (spec: Partial<PolicySpec> & { name: string }): Policy => readPolicy({ rules: '5/minute', ...spec }, 'api')

function bookOf(...policies: Policy[]): PolicyBook {
  const book = new PolicyBook()
  for (const each of policies) book.put(each)
  return book
}

const isExact = (pattern: string): boolean => !pattern.endsWith('*')
const fits = (pattern: string, text: string): boolean =>
  isExact(pattern) ? text === pattern : text.startsWith(pattern.slice(0, -1))

/** The order of the truth tables, in a slow and obvious implementation. */
function slowMatches(policies: readonly Policy[], client: string, route: string, attributes: Attributes): Policy[] {
  const rank = (each: Policy): (number | string)[] => {
    const patterns =
      isExact(each.client) && isExact(each.route)
        ? [4, 0, 0]
        : isExact(each.client)
          ? [3, each.route.length, 0]
          : isExact(each.route)
            ? [2, each.client.length, 0]
            : [1, each.client.length, each.route.length]
    const prefixes = each.conditions.filter(({ pattern }) => !isExact(pattern))
    const length = prefixes.reduce((sum, { pattern }) => sum + pattern.length - 1, 0)
    return [...patterns, each.conditions.length, each.conditions.length - prefixes.length, length]
  }
  const compare = (a: Policy, b: Policy): number => {
    const [ofA, ofB] = [rank(a), rank(b)]
    const at = ofA.findIndex((value, i) => value !== ofB[i])
    return at < 0 ? (a.name < b.name ? -1 : 1) : Number(ofB[at]) - Number(ofA[at])
  }
  return policies
    .filter((each) => fits(each.client, client) && fits(each.route, route))
    .filter(({ conditions }) =>
      conditions.every(({ attribute, pattern }) => attribute in attributes && fits(pattern, attributes[attribute])),
    )
    .sort(compare)
}

test('the book equals a slow and obvious model, with conditions and layers, after any changes', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 3 })
  const pattern = fc.oneof(
    text,
    text.map((start) => `${start}*`),
    fc.constant('*'),
  )
  const values = (value: fc.Arbitrary<string>) => fc.dictionary(fc.constantFrom('org', 'plan', 'region'), value, { maxKeys: 3 })
  const change = fc.record({
    name: fc.nat(30).map((i) => `p${i}`),
    client: pattern,
    route: pattern,
    where: values(pattern),
    per: fc.constantFrom<string[] | undefined>(undefined, ['client'], ['org'], ['plan', 'route']),
    applies: fc.constantFrom('most-specific' as const, 'always' as const),
    remove: fc.boolean(),
  })
  const question = fc.record({ client: text, route: text, attributes: values(text) })
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 30 }),
      fc.array(question, { minLength: 1, maxLength: 15 }),
      (changes, questions) => {
        const book = new PolicyBook()
        const model = new Map<string, Policy>()
        for (const { remove, per, ...spec } of changes) {
          if (remove && model.has(spec.name)) {
            book.delete(spec.name)
            model.delete(spec.name)
            continue
          }
          try {
            const made = policy({ ...spec, ...(per && { per: [...per] }) })
            book.put(made)
            model.set(spec.name, made)
          } catch (error) {
            // The same patterns and conditions as another policy, or none at all.
            expect(['ERR_POLICY_TAKEN', 'ERR_INPUT']).toContain((error as { code?: string }).code)
          }
        }
        const [specific, layers] = ['most-specific', 'always'].map((applies) =>
          [...model.values()].filter((each) => each.applies === applies),
        )
        for (const { client, route, attributes } of questions) {
          const expected = slowMatches(specific, client, route, attributes)[0]?.name ?? 'default'
          expect(book.find(client, route, attributes).name).toBe(expected)
          const names = slowMatches(layers, client, route, attributes).map(({ name }) => name)
          if (names.length <= 16) expect(book.layersFor(client, route, attributes).map(({ name }) => name)).toEqual(names.sort())
        }
      },
    ),
    { numRuns: 1000 },
  )
})

describe('the truth table of the guide', () => {
  const guide = readFileSync(new URL('../../../../docs/guides/layers.md', import.meta.url), 'utf8')
  const [, table] = /<!-- most-specific -->\n\n([\s\S]*?)\n\n/.exec(guide) ?? []
  const rows = (table ?? '').split('\n').slice(2)
  const cells = rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
  const inOrder = cells.map(([, client, route, where, per], i) => {
    const conditions = where === '' ? [] : where.split(', ').map((each) => each.split(': ') as [string, string])
    const isDefault = client === '*' && route === '*' && where === '' && per === ''
    const counted = per === '' ? {} : { per: per.split(', ') }
    const name = isDefault ? 'default' : `row-${String(i).padStart(2, '0')}`
    return policy({ name, client, route, where: Object.fromEntries(conditions), ...counted })
  })
  const REQUEST = ['acme', '/v1/search', { plan: 'free', region: 'eu-west', org: 'o1' }] as const

  test('has rows, down to the default', () => {
    expect(cells.length).toBeGreaterThan(12)
    expect(cells.map(([order]) => order)).toEqual(cells.map((_, i) => String(i + 1)))
    expect(inOrder.at(-1)?.name).toBe('default')
  })

  test('is the order in which policies are chosen', () => {
    const book = bookOf(...inOrder)
    for (const each of inOrder) {
      expect(book.find(...REQUEST).name).toBe(each.name)
      book.delete(each.name)
    }
    expect(book.find(...REQUEST).source).toBe('built-in')
  })

  test('holds without attributes for the policies without conditions', () => {
    const book = bookOf(...inOrder)
    for (const each of inOrder.filter(({ conditions }) => conditions.length === 0)) {
      expect(book.find('acme', '/v1/search').name).toBe(each.name)
      book.delete(each.name)
    }
  })
})

describe('the work of a search', () => {
  const makers: Readonly<Record<string, (i: number) => Policy>> = {
    'by value': (i) => policy({ name: `p${i}`, where: { org: `org-${i}` } }),
    'by prefix': (i) => policy({ name: `p${i}`, where: { org: `${String(i).padStart(6, '0')}*` } }),
    'by name of attribute': (i) => policy({ name: `p${i}`, where: { [`a${i}`]: 'x' } }),
    'by several conditions': (i) => policy({ name: `p${i}`, where: { org: `org-${i % 100}`, plan: `plan-${i}` } }),
    'by client': (i) => policy({ name: `p${i}`, client: `client-${i}`, where: { plan: 'free' } }),
    'as layers': (i) => policy({ name: `p${i}`, applies: 'always', where: { org: `org-${i}` } }),
  }

  /** Number of lookups in maps. Everything that a search looks at is in one. */
  function lookups(book: PolicyBook): number {
    const spy = vi.spyOn(Map.prototype, 'get')
    book.find('client-3', '/a', { org: 'org-3', plan: 'plan-3', a3: 'x' })
    book.layersFor('client-3', '/a', { org: 'org-3', plan: 'plan-3', a3: 'x' })
    const { length } = spy.mock.calls
    spy.mockRestore()
    return length
  }

  test.each(Object.entries(makers))('is the same for 10 policies and for 10,000: %s', (_, make) => {
    const of = (count: number): number => lookups(bookOf(...Array.from({ length: count }, (_, i) => make(i))))
    expect(of(10)).toBeGreaterThan(0)
    expect(of(10_000)).toBe(of(10))
  })
})
