// A random walk of records: makes the same calls with costs by rule on two limiters with one clock. All results must be equal.

import { expect } from 'vitest'
import type { Store } from '../src/core/store.ts'
import { createLimiter, fixedWindow, type Limiter, type Rule, slidingLog, slidingWindow, tokenBucket } from '../src/index.ts'
import type { FakeClock } from '../src/testing/fake-clock.ts'
import { definitionStore } from '../src/testing/index.ts'
import type { Random } from '../src/testing/random.ts'

export type UserAndOrg = { readonly user: string; readonly org: string }

/** Lists of rules that count by different keys of a subject, with every algorithm and with rules that count denied hits. */
export const RECORD_RULES: Readonly<Record<string, readonly Rule[]>> = {
  'windows, a log and a bucket': [
    fixedWindow({ limit: 4, window: 1000, name: 'requests', per: 'user' }),
    tokenBucket({ capacity: 9, refill: 4, every: 700, name: 'tokens', per: 'org' }),
    slidingLog({ limit: 12, window: 1300, name: 'everybody', per: [] }),
    slidingWindow({ limit: 6, window: 900, name: 'pair', per: ['org', 'user'] }),
  ],
  'rules that count denied hits among others': [
    fixedWindow({ limit: 3, window: 900, name: 'denied', per: 'user', countDenied: true }),
    slidingWindow({ limit: 7, window: 800, name: 'org', per: 'org', round: 'none' }),
    fixedWindow({ limit: 5, window: 600, name: 'elastic', per: 'org', elastic: true }),
    tokenBucket({ capacity: 9, refill: 3, every: 500, name: 'all', per: [], style: 'stepped' }),
    fixedWindow({ limit: 9, window: 700, name: 'on the clock', per: ['user', 'org'], anchor: 'clock' }),
  ],
}

interface RecordWalk {
  readonly store: Store
  readonly rules: readonly Rule[]
  readonly clock: FakeClock
  readonly random: Random
  readonly steps: number
  /** Lets the clock step back now and then. */
  readonly stepsBack: boolean
}

/** Walks over a few users and organisations. Throws at the first difference, with the seed. Returns the number of denied hits. */
export async function recordWalk({ store, rules, clock, random, steps, stepsBack }: RecordWalk): Promise<number> {
  const limiterOn = (on: Store) => createLimiter({ rules, store: on, failure: { timeoutMs: 20_000 } }) as Limiter
  const tested = limiterOn(store)
  const defined = limiterOn(definitionStore(clock))
  let denied = 0
  for (let step = 0; step < steps; step++) {
    clock.set(
      clock.now() + random.pick([0, 0, 1, 7, 60, 200, random.whole(0, 40) === 0 ? random.whole(stepsBack ? -900 : 0, 2000) : 3]),
    )
    const subject = { user: random.pick(['ada', 'bob']), org: random.pick(['acme', 'zeta']) } as unknown as string
    const cost = random.pick([1, 2, costs(rules, random)])
    const rule = { rule: random.pick(rules).name }
    const call = random.pick<(limiter: Limiter) => unknown>([
      ...Array(6).fill((limiter: Limiter) => limiter.hit(subject, { cost })),
      (limiter) => limiter.peek(subject, { cost }),
      (limiter) => limiter.refund(subject, cost),
      (limiter) => limiter.get(subject, rule),
      (limiter) => limiter.expiresAt(subject, rule),
      (limiter) => (random.seed + step) % 9 === 0 && limiter.reset(subject),
      (limiter) => limiter.inc(subject, 1, rule),
    ])
    const expected = await call(defined)
    expect(shown(await call(tested)), `SEED=${random.seed}, step ${step}`).toEqual(shown(expected))
    if ((expected as { allowed?: boolean } | undefined)?.allowed === false) denied += 1
  }
  return denied
}

/** Costs of some of the rules, by name. At least one rule costs something. */
function costs(rules: readonly Rule[], random: Random): Record<string, number> {
  const named = rules.slice(1).filter(() => random.whole(0, 1) === 0)
  return Object.fromEntries(named.map(({ name, limit }) => [name, random.pick([0, 1, 3, random.whole(1, limit + 1)])]))
}

function shown(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) return answer
  return JSON.stringify(answer, (_, value) => (value === Number.POSITIVE_INFINITY ? 'never' : value))
}
