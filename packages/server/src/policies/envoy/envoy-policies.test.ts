// Files of the reference server as policies: the policy that decides is the limit that the reference server finds.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { roundsOf } from '../../../../../test/rounds.ts'
import { readPolicies } from '../policy.ts'
import { PolicyBook } from '../policy-book.ts'
import { attributeNames, DOMAIN, joined, routeOf } from './descriptor-names.ts'
import { readEnvoyFile } from './envoy-file.ts'
import { policiesOf } from './envoy-policies.ts'

function imported(text: string) {
  return policiesOf([readEnvoyFile('limits.yaml', text)])
}

test('descriptors become policies for a route, with conditions on values', () => {
  const { specs, differences } = imported(`
domain: edge
descriptors:
  - key: plan
    value: free
    descriptors:
      - key: remote_address
        rate_limit: { unit: Minute, requests_per_unit: 10, name: free-plan }
  - key: plan
    value: paid*
    shadow_mode: true
    rate_limit: { unit: week, requests_per_unit: 1000 }
  - key: internal
    rate_limit: { unlimited: true }
`)
  expect(differences).toEqual([])
  const window = { algorithm: 'fixed-window', anchor: 'clock', countDenied: true }
  expect(specs).toEqual([
    {
      name: 'edge.plan_free.remote_address',
      route: 'edge|plan|remote_address',
      where: { plan: 'free' },
      rules: { ...window, limit: 10, window: '1m', name: 'free-plan' },
    },
    {
      name: 'edge.plan_paid-',
      route: 'edge|plan',
      where: { plan: 'paid*' },
      rules: { ...window, limit: 1000, window: '7d', name: 'week' },
      mode: 'shadow',
    },
    { name: 'edge.internal', route: 'edge|internal', rules: '1/second', mode: 'off' },
  ])
})

test('settings that have another effect are reported', () => {
  const { differences } = imported(`
domain: edge
descriptors:
  - key: a
    quota_mode: true
    detailed_metric: true
    metadata: { team: x }
    rate_limit: { unit: hour, requests_per_unit: 5, name: 'a b', replaces: [{ name: other }] }
`)
  expect(differences.map(({ message }) => message)).toEqual([
    'limits.yaml: descriptors[0]: quota_mode has no effect: the limit denies by itself',
    'limits.yaml: descriptors[0]: metadata is not returned',
    'limits.yaml: descriptors[0]: metrics are counted by policy, and not by value',
    'limits.yaml: descriptors[0].rate_limit: replaces has no effect: both limits apply',
    `limits.yaml: descriptors[0].rate_limit: the name "a b" cannot be the name of a rule: it is called hour`,
  ])
})

const REFUSED: readonly (readonly [string, string])[] = [
  ['descriptors: []', 'domain'],
  ['domain: d\nlimits: []', '"limits"'],
  ['domain: d\ndescriptors: [{ value: x }]', 'descriptors[0].key'],
  ['domain: d\ndescriptors: [{ key: a, ratelimit: { unit: hour } }]', 'rate_limit'],
  ['domain: d\ndescriptors: [{ key: a, rate_limit: { unit: fortnight, requests_per_unit: 1 } }]', 'unit'],
  ['domain: d\ndescriptors: [{ key: a, rate_limit: { unit: hour, requests_per_unit: -1 } }]', 'requests_per_unit'],
  ['domain: d\ndescriptors: [{ key: a, rate_limit: { unit: hour, unlimited: true } }]', 'unlimited'],
  ['domain: d\ndescriptors: [{ key: a, value: x }, { key: a, value: x }]', 'has the key and the value of descriptors[0]'],
  ['domain: d\ndescriptors: [{ key: a, value: "x*y" }]', 'a star is possible only at the end'],
  ['domain: d\ndescriptors: [{ key: "a*" }]', 'a star is possible only in a value'],
  ['domain: "d*"', 'a star is not possible there'],
  ['domain: d\ndescriptors: [{ key: a, value: [x] }]', 'descriptors[0].value'],
  ['domain: d\ndescriptors: [{ key: a, value: x, share_threshold: true }]', 'share_threshold'],
  ['domain: d\ndescriptors: [{ key: a, rate_limit: { unit: hour, name: n, replaces: [{ name: n }] } }]', 'replaces itself'],
  ['domain: [', 'limits.yaml is not YAML'],
]

test.each(REFUSED)('%j is refused', (text, reason) => {
  expect(() => imported(text)).toThrow(reason)
})

test.each(['1.10', '012345678901', '12345678901234567890', '1e3', '0x10', 'true', '.5', '~x'])(
  'the value %s is a text, as it is written',
  (value) => {
    const { specs } = imported(`
domain: 7
descriptors: [{ key: 5, value: ${value}, rate_limit: { unit: hour, requests_per_unit: 1 } }]`)
    expect(specs).toMatchObject([{ route: '7|5', where: { x5: value } }])
  },
)

test('a field without a value is as if it were not there, and parts can be merged', () => {
  const { specs } = imported(`
domain: d
descriptors:
  - &first
    key: a
    value:
    metadata:
    rate_limit: { unit: hour, requests_per_unit: 1 }
    descriptors:
  - <<: *first
    key: b
  - key: c
    rate_limit:
    descriptors: [{ key: d, rate_limit: { unlimited: true } }]
`)
  expect(specs.map(({ route, where }) => ({ route, where }))).toEqual([{ route: 'd|a' }, { route: 'd|b' }, { route: 'd|c|d' }])
})

test('ten thousand values of one key take about as long as their policies', () => {
  const long = 'x'.repeat(80)
  const values = Array.from({ length: 10_000 }, (_, i) => ({
    ...{ key: 'user', value: `${long}${i}` },
    rate_limit: { unit: 'hour', requests_per_unit: 1 },
  }))
  const { user } = process.cpuUsage()
  const { specs } = policiesOf([readEnvoyFile('limits.yaml', JSON.stringify({ domain: 'd', descriptors: values }))])
  const importMs = (process.cpuUsage().user - user) / 1000
  expect(new Set(specs.map(({ name }) => name)).size).toBe(10_000)
  const { user: before } = process.cpuUsage()
  readPolicies(specs, 'api', 'policies')
  const policiesMs = (process.cpuUsage().user - before) / 1000
  // It was 100 times as long: names and overlaps were looked for among all others.
  expect(importMs / policiesMs).toBeLessThan(20)
})

test('two files cannot have the same domain', () => {
  const file = readEnvoyFile('a.yaml', 'domain: d')
  expect(() => policiesOf([file, file])).toThrow('two files have the domain d')
})

// The walk of the reference server, level by level. Returns the number of requests of the limit.
interface Written {
  readonly key: string
  readonly value?: string
  readonly rate_limit?: object
  readonly descriptors?: readonly Written[]
}

function walked(level: readonly Written[], entries: readonly (readonly [string, string])[]): number | undefined {
  const [[key, value], ...rest] = entries
  const found =
    level.find((each) => each.key === key && each.value === value) ??
    level.find((each) => each.key === key && each.value?.endsWith('*') && value.startsWith(each.value.slice(0, -1))) ??
    level.find((each) => each.key === key && each.value === undefined)
  if (found === undefined) return undefined
  if (rest.length > 0) return walked(found.descriptors ?? [], rest)
  return (found.rate_limit as { requests_per_unit: number } | undefined)?.requests_per_unit
}

const VALUES = ['x', 'xy', 'y', 'z'] as const
const LEVELS = 3

/** Levels of one key: which keys there are does not matter, and one key makes more overlaps. */
function levelOf(depth: number): fc.Arbitrary<readonly Written[]> {
  const node = fc.record(
    {
      key: fc.constant('a'),
      value: fc.constantFrom('x', 'xy', 'y', 'x*', '*'),
      rate_limit: fc.integer({ min: 1, max: 1_000_000 }).map((requests_per_unit) => ({ unit: 'hour', requests_per_unit })),
      ...(depth < LEVELS && { descriptors: levelOf(depth + 1) }),
    },
    { requiredKeys: ['key'] },
  )
  return fc.uniqueArray(node, { minLength: 1, maxLength: 4, selector: ({ value }) => value })
}

/** Every descriptor of up to three entries. */
const DESCRIPTORS = Array.from({ length: LEVELS }, (_, i) => i + 1).flatMap((length) =>
  Array.from({ length: VALUES.length ** length }, (_, number) =>
    Array.from({ length }, (_, place) => ['a', VALUES[Math.floor(number / VALUES.length ** place) % VALUES.length]] as const),
  ),
)

/** The limit of the policy that decides. */
function decided(book: PolicyBook, entries: readonly (readonly [string, string])[]): number | undefined {
  const keys = entries.map(([key]) => key)
  const values = entries.map(([, value]) => value)
  const attributes = Object.fromEntries(attributeNames(keys).map((name, i) => [name, values[i]]))
  const found = book.find(joined(values), routeOf('d', keys), { [DOMAIN]: 'd', ...attributes })
  return found.source === 'built-in' || found.mode === 'off' ? undefined : found.rules[0].limit
}

test('for any tree, the policy that decides a descriptor has the limit that the reference server finds', {
  timeout: 120_000,
}, () => {
  fc.assert(
    fc.property(levelOf(1), (descriptors) => {
      const { specs } = imported(stringify({ domain: 'd', descriptors }))
      const book = new PolicyBook()
      book.replaceFilePolicies(readPolicies(specs, 'file', 'policies'))
      const wrong = DESCRIPTORS.filter((entries) => decided(book, entries) !== walked(descriptors, entries))
      expect(wrong).toEqual([])
    }),
    { numRuns: roundsOf({ usual: 150, long: 3000 }) },
  )
})
