// The same log through the running service and through a simulation: every answer is the same.

import { expect, test, vi } from 'vitest'
import { roundsOf } from '../../../test/rounds.ts'
import { seededRandom } from '../../sluice/src/testing/random.ts'
import type { CheckResult } from '../src/decide/decider.ts'
import type { PolicySpec } from '../src/policies/policy.ts'
import type { LogEntry } from '../src/simulate/forms/entry-reader.ts'
import { LogClock } from '../src/simulate/replay/log-clock.ts'
import { bookOf } from '../src/simulate/replay/policy-books.ts'
import { Simulation } from '../src/simulate/replay/simulation.ts'
import { START, startService, type TestService } from './running-service.ts'

const POLICIES: PolicySpec[] = [
  { name: 'orders', route: '/orders*', rules: '5/10seconds; token-bucket 20/minute burst 8', scope: 'policy' },
  { name: 'login', route: '/login', rules: 'sliding-log 3/minute' },
  { name: 'ada', client: 'ada', rules: ['gcra 2/second burst 4', 'sliding-window 30/minute'] },
  { name: 'eu', client: 'eu-*', rules: { algorithm: 'leaky-bucket', capacity: 6, leak: 1, every: '2s' } },
  { name: 'seen', client: 'bob', rules: '2/minute', mode: 'shadow' },
  { name: 'free', client: 'eve', rules: '1/day', mode: 'off' },
  {
    name: 'trial',
    where: { plan: 'trial' },
    route: '/other',
    rules: { algorithm: 'fixed-window', limit: 4, window: '1m', per: 'plan' },
  },
  {
    name: 'all',
    applies: 'always',
    rules: ['30/minute', { algorithm: 'fixed-window', limit: 400, window: '1h', per: [] }],
    scope: 'policy',
  },
  { name: 'watched', applies: 'always', route: '/', mode: 'shadow', rules: '3/minute' },
  { name: 'blocked', client: 'c4', route: '/export', mode: 'deny', expires_at: '2027-01-15T08:05:00Z' },
  { name: 'quota', route: '/export', rules: { algorithm: 'calendar-window', limit: 9, every: 'day', timeZone: 'Europe/Berlin' } },
]

function randomLog(seed: number, length: number): LogEntry[] {
  const random = seededRandom(seed)
  let timeMs = START
  return Array.from({ length }, () => {
    timeMs += random.pick([0, 0, 0, 1, 137, 1000, 2000, 15_000])
    return {
      timeMs,
      clientId: random.pick(['ada', 'bob', 'eve', 'eu-1', 'eu-2', 'c1', 'c2', 'c3', 'c4']),
      route: random.pick(['/orders', '/orders/7', '/login', '/export', '/', '/other']),
      cost: random.pick([1, 1, 1, 1, 2, 3, 10]),
      attributes: random.pick([undefined, { plan: 'trial' }, { plan: 'paid', org: 'acme' }]),
    }
  })
}

/** The answer of the service to one check. */
function answerOf({ policy, decision, allowed, isShadowDenied }: CheckResult) {
  const { rule, limit, remaining: remain, retryAfterMs, resetAfterMs, retryable } = decision
  return {
    ...{ policy: policy.name, rule },
    ...{ status: allowed ? 'Allow' : 'Deny', limit, remain, reset_in_second: Math.ceil(resetAfterMs / 1000) },
    ...(isShadowDenied && { shadow_denied: true }),
    ...(!allowed && { retryable, retry_after_ms: retryAfterMs === Number.POSITIVE_INFINITY ? null : retryAfterMs }),
  }
}

/** Sends the log at the times of its entries. Entries of one time are one batch. */
async function throughService({ call }: TestService, log: readonly LogEntry[]): Promise<unknown[]> {
  const answers: unknown[] = []
  for (let at = 0; at < log.length; ) {
    const { timeMs } = log[at]
    let end = at
    while (end < log.length && log[end].timeMs === timeMs) end += 1
    vi.setSystemTime(timeMs)
    const checks = log
      .slice(at, end)
      .map(({ clientId, route, cost, attributes }) => ({ client_id: clientId, route, cost, attributes }))
    const { status, body } = await call('POST', '/v1/check/batch', { checks })
    expect(status).toBe(200)
    answers.push(...body.data.results)
    at = end
  }
  return answers
}

test('a simulation answers every request of a log as the running service does at that time', async () => {
  for (let round = 0; round < roundsOf({ usual: 1, long: 20 }); round++) {
    const { seed } = seededRandom()
    const log = randomLog(seed, roundsOf({ usual: 500, long: 3000 }))
    const service = await startService()
    for (const { name, ...spec } of POLICIES) {
      const { status } = await service.call('PUT', `/v1/policies/${name}`, spec)
      expect(status).toBeLessThan(300)
    }
    const served = await throughService(service, log)
    const simulated: unknown[] = []
    const clock = new LogClock()
    const simulation = new Simulation({
      clock,
      proposed: bookOf(POLICIES, clock),
      onDecision: (_entry, result) => simulated.push(answerOf(result as CheckResult)),
    })
    for (const entry of log) simulation.replay({ ...entry })
    simulation.close()
    expect(simulated, `SEED=${seed}`).toEqual(served)
    expect(simulated.some((answer) => (answer as { status: string }).status === 'Deny')).toBe(true)
  }
})

test('with --as authorize, paths are decided as /v1/authorize does', async () => {
  const { seed } = seededRandom()
  const log = randomLog(seed, 150).map((entry) => ({ ...entry, cost: 20 }))
  const { call } = await startService()
  const served: number[] = []
  for (const { timeMs, clientId, route, cost } of log) {
    vi.setSystemTime(timeMs)
    const headers = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-uri': route }
    served.push((await call('GET', `/v1/authorize?client=${clientId}&cost=${cost}`, undefined, headers)).status)
  }
  const simulated: number[] = []
  const clock = new LogClock()
  const simulation = new Simulation({
    clock,
    proposed: bookOf([], clock),
    asPaths: true,
    onDecision: (_entry, result) => simulated.push(result?.allowed ? 200 : 429),
  })
  for (const entry of log) simulation.replay({ ...entry })
  simulation.close()
  expect(simulated, `SEED=${seed}`).toEqual(served)
  expect(simulated).toContain(429)
})

test('beside other policies, each request is newly denied, newly allowed or neither', () => {
  const { seed } = seededRandom()
  const log = randomLog(seed, roundsOf({ usual: 500, long: 3000 }))
  const specs = {
    before: [{ name: 'default', rules: '10/minute' }],
    after: POLICIES,
  }
  const allowedUnder = (policies: PolicySpec[]): boolean[] => {
    const allowed: boolean[] = []
    const clock = new LogClock()
    const proposed = bookOf(policies, clock)
    const simulation = new Simulation({ clock, proposed, onDecision: (_entry, result) => allowed.push(result?.allowed ?? false) })
    for (const entry of log) simulation.replay({ ...entry })
    return allowed
  }
  const [before, after] = [allowedUnder(specs.before), allowedUnder(specs.after)]
  const clock = new LogClock()
  const both = new Simulation({ clock, proposed: bookOf(specs.after, clock), current: bookOf(specs.before, clock) })
  for (const entry of log) both.replay({ ...entry })
  const total = (column: 'denied' | 'deniedBefore' | 'newlyDenied' | 'newlyAllowed'): number =>
    Array.from({ length: both.clients.size }, (_, i) => both.clients.count(i, column)).reduce((a, b) => a + b, 0)
  const countOf = (test: (i: number) => boolean): number => log.filter((_, i) => test(i)).length
  expect(
    { denied: total('denied'), before: total('deniedBefore'), newly: total('newlyDenied'), allowed: total('newlyAllowed') },
    `SEED=${seed}`,
  ).toEqual({
    denied: countOf((i) => !after[i]),
    before: countOf((i) => !before[i]),
    newly: countOf((i) => before[i] && !after[i]),
    allowed: countOf((i) => !before[i] && after[i]),
  })
  expect(total('newlyDenied')).toBeGreaterThan(0)
  expect(total('newlyAllowed')).toBeGreaterThan(0)
})
