// The clock of each process decides. These are the limits of that, as docs/reference/memcached-store.md states them.

import { expect, onTestFinished, test } from 'vitest'
import { createLimiter, type Limiter } from '../../src/index.ts'
import { everyRule, fakeClock } from '../../src/testing/index.ts'
import { freshPrefix } from '../redis/real-redis.ts'
import { realMemcached, storeOn } from './real-memcached.ts'

const server = realMemcached()
const RULES = everyRule().filter(({ countsDenied }) => !countsDenied)

/** Two limiters on one server. The clock of the second one is ahead by `skewMs`. Time passes for both. */
function twoProcesses(rule: (typeof RULES)[number], skewMs: number) {
  const clocks = [fakeClock(), fakeClock(fakeClock().now() + skewMs)] as const
  const prefix = freshPrefix()
  const [first, second] = clocks.map((clock): Limiter<'async'> => {
    const store = storeOn([server.it], { clock, prefix })
    onTestFinished(() => store.close())
    return createLimiter({ rules: rule, store })
  })
  const pass = (ms: number): void => clocks.forEach((clock) => void clock.set(clock.now() + ms))
  return { first, second, pass }
}

test.each(RULES.map((rule) => [rule.name, rule] as const))(
  'a clock that is a little ahead frees no more than it is ahead: %s',
  async (_, rule) => {
    const skewMs = 3
    const { first, second } = twoProcesses(rule, skewMs)
    let allowed = 0
    for (let i = 0; i < rule.limit; i++) {
      if ((await first.hit('ada')).allowed) allowed += 1
      if ((await second.hit('ada')).allowed) allowed += 1
    }
    // A window on the clock may end between the two clocks. No other rule gives anything back within three milliseconds, but one unit.
    expect(allowed).toBeGreaterThanOrEqual(rule.limit)
    expect(allowed).toBeLessThanOrEqual(rule.limit + 1)
  },
)

test.each(RULES.map((rule) => [rule.name, rule] as const))(
  'a clock that is an hour behind waits no longer than a window: %s',
  async (_, rule) => {
    const { first, second, pass } = twoProcesses(rule, 3_600_000)
    while ((await second.hit('ada')).allowed) pass(0)
    const { allowed, retryAfterMs } = await first.hit('ada')
    if (allowed) return
    expect(retryAfterMs).toBeLessThanOrEqual(2 * rule.windowMs)
    pass(retryAfterMs)
    expect((await first.hit('ada')).allowed).toBe(true)
  },
)
