// Counts of policies in shadow mode: as an instance publishes them, and summed over instances.

import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../../sluice/src/testing/random.ts'
import { shadowed } from '../../test/shadowed.ts'
import type { FleetInstance } from './fleet-view.ts'
import type { InstanceReport } from './instance-report.ts'
import { figuresOf, MOST_CHARACTERS, publishedShadows, readShadows, type ShadowedPolicy } from './published-shadows.ts'
import { shadowSums } from './shadow-sums.ts'

const TRIAL = { name: 'trial', etag: '"1"' }

function other(id: string, shadows: InstanceReport['shadows'], state: FleetInstance['state'] = 'ready'): FleetInstance {
  return { id, isSelf: false, state, ageMs: 0, report: { shadows } as InstanceReport }
}

const self: FleetInstance = { ...other('self', undefined), isSelf: true }
const figures = ({ counts }: ShadowedPolicy) => figuresOf(counts, Number.POSITIVE_INFINITY)
const sums = (instances: readonly FleetInstance[], own?: ShadowedPolicy, unreadable = 0) =>
  shadowSums({ instances, unreadable }, TRIAL, own && figures(own))

describe('sums', () => {
  test('have checks, denials, rules and clients of all instances, since the first check on any', () => {
    const own = shadowed({ ada: 3, bob: 1 }, { sinceMs: 5000, allowed: 2 })
    const there = publishedShadows([shadowed({ ada: 2, eve: 4 }, { sinceMs: 4000, rule: 'hour' })])
    expect(sums([self, other('b', there)], own)).toMatchObject({
      ...{ sinceMs: 4000, checks: 12, denied: 10, unlistedAtMost: 0, uncounted: 0 },
      rules: { 'rule-1': 4, hour: 6 },
      clients: [
        { clientId: 'ada', denied: 5, error: 0 },
        { clientId: 'eve', denied: 4, error: 0 },
        { clientId: 'bob', denied: 1, error: 0 },
      ],
      instances: [
        { id: 'self', isSelf: true, figures: { checks: 6, denied: 4 } },
        { id: 'b', isSelf: false, figures: { checks: 6, denied: 6 } },
      ],
    })
  })

  test('have nothing before the first check', () => {
    expect(sums([self])).toMatchObject({ sinceMs: undefined, checks: 0, denied: 0, clients: [], unlistedAtMost: 0 })
  })

  test('leave out another version of the policy, and instances that are not up', () => {
    const changed = publishedShadows([shadowed({ ada: 9 }, { etag: '"2"' })])
    const gone = publishedShadows([shadowed({ ada: 9 })])
    const sum = sums([self, other('b', changed), other('c', gone, 'gone'), other('d', gone, 'stopped')], shadowed({ ada: 1 }))
    expect(sum).toMatchObject({ denied: 1, uncounted: 0 })
    expect(sum.instances.map(({ id }) => id)).toEqual(['self', 'b'])
  })

  test('tell how many instances they lack: of another version, unreadable, or with too many policies', () => {
    const full = { policies: [], leftOut: 1 }
    expect(sums([self, other('old', undefined), other('full', full)], undefined, 2)).toMatchObject({
      uncounted: 4,
      instances: [{ id: 'self' }],
    })
  })

  test('are never too low for a client, and too high by at most the error', () => {
    const random = seededRandom()
    const truth = new Map<string, number>()
    const instances = Array.from({ length: 4 }, (_, i) => {
      const denied: Record<string, number> = {}
      for (let client = 0; client < 900; client++) {
        const times = random.whole(0, 3) === 0 ? random.whole(1, 30) : random.whole(0, 2)
        const name = `client-${client}`.padEnd(40, 'x')
        if (times === 0) continue
        denied[name] = times
        truth.set(name, (truth.get(name) ?? 0) + times)
      }
      const policy = shadowed(denied)
      return i === 0 ? { instance: self, policy } : { instance: other(`i${i}`, publishedShadows([policy])), policy }
    })
    const sum = sums(
      instances.map(({ instance }) => instance),
      instances[0].policy,
    )
    const known = new Map(sum.clients.map((client) => [client.clientId, client]))
    for (const [name, times] of truth) {
      const { denied, error } = known.get(name) ?? { denied: sum.unlistedAtMost, error: sum.unlistedAtMost }
      expect(denied, `SEED=${random.seed} ${name}`).toBeGreaterThanOrEqual(times)
      expect(denied - error, `SEED=${random.seed} ${name}`).toBeLessThanOrEqual(times)
    }
    expect(sum.denied).toBe([...truth.values()].reduce((total, times) => total + times, 0))
  })
})

describe('published counts', () => {
  test('have a bounded length, the policies with the most denials, and a client of each before a second of any', () => {
    const long = (name: string) => name.padEnd(250, '"')
    const clients = Object.fromEntries(Array.from({ length: 80 }, (_, i) => [long(`client-${i}`), 80 - i]))
    const policies = Array.from({ length: 60 }, (_, i) =>
      shadowed({ ...clients, last: i + 1 }, { name: `p${i}`.padEnd(64, 'x') }),
    )
    const published = publishedShadows(policies)
    expect(JSON.stringify(published).length).toBeLessThanOrEqual(MOST_CHARACTERS)
    expect(published.policies.length + published.leftOut).toBe(60)
    expect(published.leftOut).toBeGreaterThan(0)
    expect(published.policies[0].name).toMatch(/^p59/)
    const few = publishedShadows(policies.slice(0, 3))
    expect(JSON.stringify(few).length).toBeLessThanOrEqual(MOST_CHARACTERS)
    expect(few.leftOut).toBe(0)
    const listed = few.policies.map((policy) => policy.clients.length)
    expect(Math.min(...listed)).toBeGreaterThan(0)
    expect(Math.max(...listed) - Math.min(...listed)).toBeLessThanOrEqual(1)
    for (const { clients: kept, unlistedAtMost } of few.policies) expect(unlistedAtMost).toBe(80 - kept.length)
  })

  test('are read as they were written', () => {
    const published = publishedShadows([shadowed({ ada: 3 }), shadowed({ 'a "b"\n': 1 }, { name: 'other' })])
    expect(readShadows(JSON.parse(JSON.stringify(published)))).toEqual(published)
  })

  test.each([
    ['nothing', undefined],
    ['a list', []],
    ['no number of those left out', { policies: [] }],
    ['a policy that is no object', { policies: [null], leftOut: 0 }],
    [
      'a client without a name',
      { policies: [{ ...publishedShadows([shadowed({ ada: 1 })]).policies[0], clients: [{}] }], leftOut: 0 },
    ],
    [
      'a time that no date has',
      { policies: [{ ...publishedShadows([shadowed({ ada: 1 })]).policies[0], sinceMs: 9e15 }], leftOut: 0 },
    ],
  ])('of another form are not read: %s', (_, value) => {
    expect(readShadows(value)).toBeUndefined()
  })
})
