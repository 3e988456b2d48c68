// A random walk with holds: makes the same calls on two tallies with one clock, which may also step back. All figures must be equal.

import { type Call, type Charge, FIGURES, type Figures, type HoldTerms, type Operation } from '../core/call.ts'
import { DENIED, GRANTED } from '../core/held-step.ts'
import type { Rule } from '../core/rule.ts'
import type { Tally } from '../core/store.ts'
import type { FakeClock } from './fake-clock.ts'
import type { Random } from './random.ts'
import { LONGEST_STEP_BACK_MS } from './walk.ts'

export interface HoldWalkOptions {
  readonly tested: Tally
  readonly defined: Tally
  readonly rules: readonly Rule[]
  readonly clock: FakeClock
  readonly random: Random
  readonly steps: number
  /** True for a store that decides in parts: the clock never steps back, and no state is dropped while others keep its hold. */
  readonly inParts?: boolean
  /** True if all charges of a call have one key. */
  readonly isOneKey?: boolean
  /** The most calls that are made at once, for a store that decides them in their order. Default: 1. */
  readonly atOnce?: number
  /** True if the walk has timed hits too, which only engines make. Default: false. */
  readonly isTimed?: boolean
}

/** A hold that a walk has opened. It may have ended since. */
interface Opened {
  readonly id: number
  readonly charges: readonly Charge[]
}

/** Holds that a walk remembers. A holder that forgets a hold has crashed, and the hold expires. */
const MOST_OPENED = 6

/** Makes the same calls on both tallies. Throws at the first difference, with the seed and the last calls. Returns the number of calls by name. */
export async function holdWalk(options: HoldWalkOptions): Promise<Readonly<Record<string, number>>> {
  const { tested, defined, rules, clock, random, steps, atOnce = 1 } = options
  const opened: Opened[] = []
  const trail: string[] = []
  const counts: Record<string, number> = {}
  for (let step = 0; step < steps; ) {
    moveClock(options)
    const calls = Array.from({ length: random.whole(1, atOnce) }, () => randomCall(options, opened))
    const expected: Figures[] = []
    for (const call of calls) expected.push(await defined.ask(call))
    const got = await Promise.all(calls.map(async (call) => tested.ask(call)))
    for (const [i, call] of calls.entries()) {
      const where = `SEED=${random.seed}, step ${step++}, rules ${rules.map((rule) => rule.name)}`
      trail.push(`${clock.now()} ${JSON.stringify(call)}`)
      // Calls about holds are counted by their outcomes.
      const outcome = expected[i][expected[i].length - 1]
      const name = call.hold === undefined ? call.operation : `${call.operation} ${outcome}`
      counts[name] = (counts[name] ?? 0) + 1
      if (shown(got[i], call) !== shown(expected[i], call)) {
        throw new Error(`${where}:\n${trail.slice(-14).join('\n')}\nexpected ${expected[i]}\n     got ${got[i]}`)
      }
      if (call.operation !== 'reserve' || outcome !== GRANTED) continue
      checkWithinLimits(call, expected[i], rules, where)
      if (opened.length === MOST_OPENED) opened.splice(random.whole(0, MOST_OPENED - 1), 1)
      opened.push({ id: (call.hold as HoldTerms).id, charges: call.charges.filter(({ least }) => least !== undefined) })
    }
  }
  return counts
}

/** A granted reserve leaves every rule within its limit, with all that is held. */
function checkWithinLimits({ charges }: Call, figures: Figures, rules: readonly Rule[], where: string): void {
  charges.forEach(({ rule }, i) => {
    const used = figures[i * FIGURES]
    if (used > rules[rule].limit) throw new Error(`${where}: ${used} used or held of ${rules[rule].limit}`)
  })
}

function shown(figures: Figures, { operation }: Call): string {
  // A store that decides in parts has no single time of a denied call.
  const isDenied = operation === 'reserve' && figures[figures.length - 1] === DENIED
  const timeless = isDenied ? figures.with(figures.length - 2, 0) : figures
  return timeless.join()
}

function moveClock({ clock, random, rules, inParts }: HoldWalkOptions): void {
  const { windowMs } = random.pick(rules)
  const ms = random.pick([
    0,
    0,
    1,
    random.whole(0, 9),
    random.whole(0, Math.ceil(windowMs / 8)),
    random.whole(0, Math.ceil(windowMs / 3)),
    random.whole(0, 12) === 0 ? random.pick([windowMs - 1, windowMs, windowMs + 1, 2 * windowMs, 3 * windowMs]) : 2,
    random.whole(0, 40) === 0 && !inParts
      ? -Math.min(random.pick([1, 7, Math.ceil(windowMs / 2), windowMs, 3 * windowMs]), LONGEST_STEP_BACK_MS)
      : 1,
  ])
  clock.set(Math.max(0, clock.now() + ms))
}

const OPERATIONS: readonly Operation[] = [
  'reserve',
  'reserve',
  'reserve',
  'reserve',
  'settle',
  'settle',
  'cancel',
  'extend',
  'hit',
  'hit',
  'hit',
  'timedHit',
  'peek',
  'inc',
  'set',
  'refund',
  'get',
  'expiresAt',
  'reset',
]

const OF_ONE: readonly Operation[] = ['inc', 'set', 'get', 'expiresAt']

function randomCall(options: HoldWalkOptions, opened: readonly Opened[]): Call {
  const { random, rules, inParts = false } = options
  const operation = random.pick(OPERATIONS)
  if (operation === 'settle' || operation === 'cancel' || operation === 'extend') return endingCall(operation, options, opened)
  if (operation === 'reset' && (inParts || random.whole(0, 3) > 0)) return randomCall(options, opened)
  if (operation === 'timedHit' && !options.isTimed) return randomCall(options, opened)
  // Without a hold, nothing is spent on a rule that has nothing but holds.
  const isRead = operation === 'peek' || operation === 'get' || operation === 'expiresAt' || operation === 'reserve'
  const usable = [...rules.keys()].filter((rule) => isRead || !rules[rule].isHeld)
  if (usable.length === 0) return randomCall(options, opened)
  const first = random.pick(usable)
  const chosen = usable.filter((rule) => rule === first || (!OF_ONE.includes(operation) && random.whole(0, 2) === 0))
  const sameKey = options.isOneKey ? random.pick(['ada', 'bob']) : undefined
  const charges = chosen.map((rule): Charge => {
    const { limit, isHeld } = rules[rule]
    const amount = random.pick([1, 1, 1, 2, random.whole(1, limit), random.whole(0, 3) === 0 ? limit + 1 : 1])
    const charge = { rule, key: sameKey ?? random.pick(['ada', 'bob']), amount }
    const isToHold = operation === 'reserve' && (rule === first || isHeld || random.whole(0, 1) === 0)
    return isToHold ? { ...charge, least: random.pick([amount, amount, random.whole(1, amount)]) } : charge
  })
  return operation === 'reserve' ? { operation, charges, hold: termsOf(options) } : { operation, charges }
}

function termsOf({ random, rules, inParts }: HoldWalkOptions): HoldTerms {
  const { windowMs } = random.pick(rules)
  return {
    id: random.whole(0, 2 ** 53 - 1),
    ttlMs: random.pick([1, 5, Math.ceil(windowMs / 3), windowMs, 3 * windowMs]),
    isCharged: random.whole(0, 2) > 0,
    // A store that decides in parts may find that a call is denied before it finds that a key is full of holds.
    most: inParts ? 1000 : random.pick([2, 4, 1000]),
  }
}

/** Ends or extends a hold: one that was opened, mostly, or one that nobody knows. */
function endingCall(operation: Operation, options: HoldWalkOptions, opened: readonly Opened[]): Call {
  const { random, rules, isOneKey } = options
  const unknown: Opened = { id: random.whole(0, 9), charges: [{ rule: 0, key: 'ada', amount: 1 }] }
  const { id, charges } = opened.length === 0 || random.whole(0, 15) === 0 ? unknown : random.pick(opened)
  const amount = (rule: number, held: number): number =>
    operation === 'settle' ? random.pick([-1, 0, 1, held, random.whole(0, held), held + random.whole(1, rules[rule].limit)]) : 0
  const hold = { ...termsOf({ ...options, isOneKey: isOneKey ?? false }), id }
  return { operation, charges: charges.map(({ rule, key, amount: held }) => ({ rule, key, amount: amount(rule, held) })), hold }
}
