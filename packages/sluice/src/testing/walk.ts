// A random walk: makes the same calls on two limiters with one clock, which may also step back. All results must be equal.

import type { Decision } from '../core/decision.ts'
import type { Limiter } from '../core/limiter.ts'
import type { Timing } from '../core/store.ts'
import type { Cost, Subject } from '../core/subject.ts'
import type { FakeClock } from './fake-clock.ts'
import type { Random } from './random.ts'

/** A limiter with any rules and subjects. */
export type AnyLimiter = Limiter<Timing, Subject>

export interface WalkOptions {
  readonly tested: AnyLimiter
  readonly defined: AnyLimiter
  readonly clock: FakeClock
  readonly random: Random
  readonly steps: number
  /** Default: two keys. */
  readonly subjects?: readonly Subject[] | undefined
  /** True if the clock never steps back. */
  readonly isForward?: boolean
}

/** Walks over a few subjects; throws at the first difference, with the seed and the last calls. */
export async function walk(options: WalkOptions): Promise<void> {
  const { tested, defined, clock, random, steps, subjects = ['ada', 'bob'], isForward = false } = options
  const trail: string[] = []
  for (let step = 0; step < steps; step++) {
    move(clock, random, tested, isForward)
    const { text, ask } = randomCall(random, tested, subjects)
    trail.push(`${clock.now()} ${text}`)
    const got = figures(await ask(tested))
    const expected = figures(await ask(defined))
    if (got === expected) continue
    throw new Error(
      `SEED=${random.seed}, step ${step}, rules ${tested.rules.map((rule) => rule.name)}:\n` +
        `${trail.slice(-12).join('\n')}\nexpected ${expected}\n     got ${got}`,
    )
  }
}

/** Stores sweep a state an hour after its end. After a longer step back, it would count again in the definition, and nowhere else. */
export const LONGEST_STEP_BACK_MS = 3_600_000

/** Moves the clock: mostly a little forward, sometimes over one or two windows, sometimes back. */
function move(clock: FakeClock, random: Random, limiter: AnyLimiter, isForward: boolean): void {
  const { windowMs } = random.pick(limiter.rules)
  const ms = random.pick([
    0,
    0,
    1,
    random.whole(0, 9),
    random.whole(0, Math.ceil(windowMs / 10)),
    random.whole(0, Math.ceil(windowMs / 3)),
    random.pick([windowMs - 1, windowMs, windowMs + 1, 2 * windowMs - 1, 2 * windowMs, 3 * windowMs]),
    random.whole(0, 30) === 0
      ? -Math.min(
          random.pick([1, 7, Math.ceil(windowMs / 2), windowMs, 3 * windowMs, LONGEST_STEP_BACK_MS]),
          LONGEST_STEP_BACK_MS,
        )
      : 1,
  ])
  clock.set(Math.max(0, clock.now() + (isForward ? Math.max(0, ms) : ms)))
}

interface Call {
  readonly text: string
  readonly ask: (limiter: AnyLimiter) => unknown
}

function randomCall(random: Random, limiter: AnyLimiter, subjects: readonly Subject[]): Call {
  const subject = random.pick(subjects)
  const who = shortText(subject)
  const chosen = random.pick(limiter.rules)
  const rule = { rule: chosen.name }
  const cost = random.pick([1, 1, 1, 2, random.whole(1, chosen.limit), chosen.limit + 1])
  const used = random.whole(0, chosen.limit + 2)
  switch (random.whole(0, 15)) {
    case 0:
      return { text: `peek ${who} ${cost - 1}`, ask: (it) => it.peek(subject, { cost: cost - 1 }) }
    case 1:
      return { text: `inc ${who} ${cost} ${chosen.name}`, ask: (it) => it.inc(subject, cost, rule) }
    case 2:
      return { text: `set ${who} ${used} ${chosen.name}`, ask: (it) => it.set(subject, used, rule) }
    case 3:
      return { text: `get ${who} ${chosen.name}`, ask: (it) => it.get(subject, rule) }
    case 4:
      return { text: `expiresAt ${who} ${chosen.name}`, ask: (it) => it.expiresAt(subject, rule) }
    case 5:
      return random.whole(0, 1) === 0
        ? { text: `refund ${who} ${cost}`, ask: (it) => it.refund(subject, cost) }
        : { text: `refund ${who} ${cost} ${chosen.name}`, ask: (it) => it.refund(subject, cost, rule) }
    case 6:
      return random.whole(0, 5) > 0
        ? { text: `peek ${who}`, ask: (it) => it.peek(subject) }
        : { text: `reset ${who}`, ask: (it) => it.reset(subject) }
    case 7:
      return costByRule(random, limiter, subject)
    default:
      return { text: `hit ${who} ${cost}`, ask: (it) => it.hit(subject, { cost }) }
  }
}

/** Makes a call with a cost for each rule. A rule with cost 0 is not asked, and a rule without an entry costs 1. */
function costByRule(random: Random, { rules }: AnyLimiter, subject: Subject): Call {
  const named = rules.filter(() => random.whole(0, 3) > 0)
  const costs = Object.fromEntries(
    named.map(({ name, limit }) => [name, random.pick([0, 1, 2, random.whole(0, limit), limit + 1])]),
  )
  const isFree = named.length === rules.length && Object.values(costs).every((amount) => amount === 0)
  const cost: Cost = isFree ? { ...costs, [rules[0].name]: 1 } : costs
  const text = `${shortText(subject)} ${JSON.stringify(cost)}`
  switch (random.whole(0, 3)) {
    case 0:
      return { text: `peek ${text}`, ask: (it) => it.peek(subject, { cost }) }
    case 1:
      return { text: `refund ${text}`, ask: (it) => it.refund(subject, cost) }
    default:
      return { text: `hit ${text}`, ask: (it) => it.hit(subject, { cost }) }
  }
}

function shortText(subject: Subject): string {
  const text = JSON.stringify(subject)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

function figures(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return String(answer)
  const { allowed, limit, remaining, retryAfterMs, resetAfterMs, rule, rules } = answer as Decision
  const all = { allowed, limit, remaining, retryAfterMs, resetAfterMs, rule, rules }
  return JSON.stringify(all, (_, value) => (value === Number.POSITIVE_INFINITY ? 'never' : value))
}
