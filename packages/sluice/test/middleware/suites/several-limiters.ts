// Several limiters in a row.

import { expect, test } from 'vitest'
import { fixedWindow } from '../../../src/algorithms/fixed-window/fixed-window.ts'
import { createLimiter } from '../../../src/create-limiter.ts'
import { legacy } from '../../../src/http/earlier-styles.ts'
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

  test.each([
    ['the tighter one inside', [outer, inner]],
    ['the tighter one outside', [inner, outer]],
  ])('fields about one limiter are those of the tighter limiter: %s', async (_, limiters) => {
    const { ask } = await serve(limiters.map((options) => ({ ...options, headers: legacy })))
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
