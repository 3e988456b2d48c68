// Several limiters in a row.

import { expect, test } from 'vitest'
import { fixedWindow } from '../../../src/algorithms/fixed-window/fixed-window.ts'
import { createLimiter } from '../../../src/create-limiter.ts'
import { draft6Style, legacyStyle } from '../../../src/http/earlier-styles.ts'
import { memoryStore } from '../../../src/stores/memory/memory-store.ts'
import { fakeClock } from '../../../src/testing/fake-clock.ts'
import type { Framework, Options } from '../frameworks/framework.ts'
import { serving, statuses } from '../serving.ts'

const DAILY = fixedWindow({ limit: 3, window: '1d', name: 'daily' })

export function severalLimitersSuite(framework: Framework): void {
  const serve = serving(framework)

  const outer: Options = { rules: fixedWindow({ limit: 9, window: '1h', name: 'outer' }) }
  const inner: Options = { rules: fixedWindow({ limit: 2, window: '1m', name: 'inner' }) }

  test('fields are added, not overwritten', async () => {
    const { ask } = await serve([outer, inner])
    const both = (ofOuter: string, ofInner: string) =>
      (framework.answersWithResponse ? [ofInner, ofOuter] : [ofOuter, ofInner]).join(', ')
    expect((await ask()).headers).toMatchObject({
      'ratelimit-policy': both('"outer";q=9;w=3600', '"inner";q=2;w=60'),
      ratelimit: both('"outer";r=8;t=3600', '"inner";r=1;t=60'),
    })
    await ask()
    const denied = await ask()
    expect(denied).toMatchObject({
      status: 429,
      headers: { ratelimit: both('"outer";r=6;t=3600', '"inner";r=0;t=60'), 'retry-after': '60' },
    })
  })

  test('a policy of two limiters is named once, and each of its counters is described', async () => {
    const both = (ofOuter: string, ofInner: string) =>
      (framework.answersWithResponse ? [ofInner, ofOuter] : [ofOuter, ofInner]).join(', ')
    const shared = fixedWindow({ limit: 5, window: '1m', name: 'a, "b"' })
    const own = fixedWindow({ limit: 2, window: '1h', name: 'own' })
    const { ask } = await serve([{ rules: shared }, { rules: [shared, own], key: () => 'all', cost: { 'a, "b"': 2 } }])
    const { headers } = await ask()
    const policies = ['"a, \\"b\\"";q=5;w=60', '"own";q=2;w=3600']
    expect(headers['ratelimit-policy']).toBe(policies.join(', '))
    expect(headers.ratelimit).toBe(both('"a, \\"b\\"";r=4;t=60', '"a, \\"b\\"";r=3;t=60, "own";r=1;t=3600'))
    const earlier = await serve([
      { rules: shared, headers: draft6Style },
      { rules: [shared, own], key: () => 'all', headers: draft6Style },
    ])
    expect((await earlier.ask()).headers['ratelimit-policy']).toBe('5;w=60, 2;w=3600')
  })

  test.each([
    ['the tighter one inside', [outer, inner]],
    ['the tighter one outside', [inner, outer]],
  ])('fields about one limiter are those of the tighter limiter: %s', async (_, limiters) => {
    const { ask } = await serve(limiters.map((options) => ({ ...options, headers: legacyStyle })))
    expect((await ask()).headers).toMatchObject({ 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1' })
    await ask()
    expect(await ask()).toMatchObject({ status: 429, headers: { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '0' } })
  })

  test('one that is mounted twice counts once, and warns once', async () => {
    const warnings: string[] = []
    const clock = fakeClock()
    const limiter = createLimiter({ rules: DAILY, store: memoryStore({ clock }) })
    const options: Options = { limiter, warn: ({ code }) => warnings.push(code) }
    const { ask } = await serve([options, options])
    expect((await ask()).headers.ratelimit).toBe('"daily";r=2;t=86400')
    expect((await ask()).headers.ratelimit).toBe('"daily";r=1;t=86400')
    expect(statuses([await ask(), await ask()])).toEqual([200, 429])
    expect(warnings).toEqual(['WARN_MOUNTED_TWICE'])
    expect(limiter.get('127.0.0.1')).toBe(3)
  })
}
