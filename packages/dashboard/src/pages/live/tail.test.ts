import { expect, test } from 'vitest'
import type { CheckEvent } from '../../api/answers.ts'
import { added, EMPTY_TAIL, MOST_KEPT, matching, paused } from './tail.ts'
import { whyText } from './why-text.ts'

const event = (changes: Partial<CheckEvent> = {}): CheckEvent => ({
  time: '2026-11-15T12:00:00.000Z',
  client_id: 'acme',
  route: '/orders',
  cost: 1,
  policy: 'orders',
  outcome: 'allow',
  reason: 'within',
  rule: 'burst',
  limit: 20,
  remain: 19,
  retry_after_ms: 0,
  source: 'store',
  skipped: 0,
  ...changes,
})

test('the newest comes first, and a thousand events a frame stay bounded', () => {
  let tail = added(EMPTY_TAIL, [event({ client_id: 'first' }), event({ client_id: 'second' })])
  expect(tail.events.map(({ client_id }) => client_id)).toEqual(['second', 'first'])
  for (let i = 0; i < 10; i++)
    tail = added(
      tail,
      Array.from({ length: 1000 }, () => event({ skipped: 2 })),
    )
  expect(tail.events).toHaveLength(MOST_KEPT)
  expect(new Set(tail.events.map(({ number }) => number)).size).toBe(MOST_KEPT)
  expect(tail.skipped).toBe(20_000)
})

test('while paused, what is in view stays and what comes waits', () => {
  let tail = paused(added(EMPTY_TAIL, [event({ client_id: 'before' })]), true)
  tail = added(tail, [event({ client_id: 'meanwhile' })])
  expect(tail.events.map(({ client_id }) => client_id)).toEqual(['before'])
  expect(tail.waiting).toHaveLength(1)
  tail = paused(tail, false)
  expect(tail.events.map(({ client_id }) => client_id)).toEqual(['meanwhile', 'before'])
  expect(tail.waiting).toEqual([])
})

test('a filter looks at the outcome and at client, route, policy and rule', () => {
  const { events } = added(EMPTY_TAIL, [
    event({ client_id: 'Acme' }),
    event({ client_id: 'globex', outcome: 'deny', reason: 'limit' }),
    event({ client_id: 'initech', reason: 'shadow', route: '/exports' }),
  ])
  const found = (kind: Parameters<typeof matching>[1], text: string) =>
    matching(events, kind, text).map(({ client_id }) => client_id)
  expect(found('all', ' ACME ')).toEqual(['Acme'])
  expect(found('denied', '')).toEqual(['globex'])
  expect(found('shadow', '')).toEqual(['initech'])
  expect(found('allowed', '')).toEqual(['Acme'])
  expect(found('all', 'export')).toEqual(['initech'])
  expect(found('denied', 'export')).toEqual([])
})

test.each([
  [{}, '19 of 20 left of burst'],
  [{ reason: 'limit', remain: 0, retry_after_ms: 41_200 }, 'burst is used up: 0 of 20 left, passes in 42 s'],
  [{ reason: 'cost', cost: 50 }, 'cost 50 is above the limit of 20 of burst'],
  [{ reason: 'off' }, 'the policy is off'],
  [{ reason: 'store' }, 'the store did not answer'],
  [{ reason: 'fallback', source: 'fallback' }, 'the store did not answer, and nothing was counted'],
  [{ source: 'fallback' }, '19 of 20 left of burst, decided without the store'],
] as const)('why: %o is shown as %s', (changes, said) => {
  expect(whyText(event(changes))).toBe(said)
})
