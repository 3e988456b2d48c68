// A random walk with holds on one rule, compared with a ledger that knows only sums.

import { type Call, FIGURES, type HoldTerms } from '../core/call.ts'
import type { Rule } from '../core/rule.ts'
import type { Tally } from '../core/store.ts'
import type { FakeClock } from './fake-clock.ts'
import type { Random } from './random.ts'

export interface LedgerWalkOptions {
  readonly tally: Tally
  /** A rule that gives nothing back while the walk lasts. */
  readonly rule: Rule
  readonly clock: FakeClock
  readonly random: Random
  readonly steps: number
}

/**
 * Compares a tally with a ledger: units that were charged, and units that are held. Throws unless their sum is what the tally calls
 * used, after every call. So the sum of what was settled is the sum of what was charged, and nothing is lost.
 */
export async function ledgerWalk({ tally, rule, clock, random, steps }: LedgerWalkOptions): Promise<void> {
  const key = 'ledger'
  let charged = 0
  const held = new Map<number, { readonly units: number; readonly expiresAt: number; readonly isCharged: boolean }>()
  const holds = (): number => [...held.values()].reduce((sum, { units }) => sum + units, 0)
  const where = (step: number): string => `SEED=${random.seed}, step ${step}, rule ${rule.name}`
  for (let step = 0; step < steps; step++) {
    clock.advance(random.pick([0, 0, 1, 3, 10, 40]))
    const nowMs = clock.now()
    for (const [id, { units, expiresAt, isCharged }] of [...held].filter(([, each]) => each.expiresAt <= nowMs)) {
      if (isCharged) charged += units
      held.delete(id)
      if (expiresAt < nowMs && random.whole(0, 3) === 0) {
        const ended = await tally.ask({
          operation: 'settle',
          charges: [{ rule: 0, key, amount: 1 }],
          hold: someTerms(id, 0, false),
        })
        if (ended[0] !== 0) throw new Error(`${where(step)}: a hold was settled after it had expired`)
      }
    }
    const room = rule.limit - charged - holds()
    const amount = random.pick([1, 1, 2, random.whole(1, 9), Math.max(1, room), room + 1])
    const [id, hold] = held.size === 0 ? [0, undefined] : random.pick([...held])
    switch (random.pick(['reserve', 'reserve', 'reserve', 'settle', 'settle', 'cancel', 'extend', 'hit', 'peek'] as const)) {
      case 'reserve': {
        if (amount < 1 || amount > rule.limit) break
        const terms = someTerms(random.whole(0, 2 ** 53 - 1), random.pick([1, 20, 100, 400]), random.whole(0, 1) === 0)
        const least = random.pick([amount, 1])
        const figures = await tally.ask({ operation: 'reserve', charges: [{ rule: 0, key, amount, least }], hold: terms })
        const units = figures[FIGURES]
        const expected = room >= least ? Math.min(amount, room) : 0
        if (units !== expected) throw new Error(`${where(step)}: ${units} were granted, and ${expected} fit`)
        if (units > 0) held.set(terms.id, { units, expiresAt: nowMs + terms.ttlMs, isCharged: terms.isCharged })
        break
      }
      case 'settle': {
        if (hold === undefined) break
        const used = random.pick([-1, 0, hold.units, random.whole(0, hold.units)])
        await end(
          tally,
          { operation: 'settle', charges: [{ rule: 0, key, amount: used }], hold: someTerms(id, 0, false) },
          where(step),
        )
        charged += used < 0 ? hold.units : used
        held.delete(id)
        break
      }
      case 'cancel':
        if (hold === undefined) break
        await end(
          tally,
          { operation: 'cancel', charges: [{ rule: 0, key, amount: 0 }], hold: someTerms(id, 0, false) },
          where(step),
        )
        held.delete(id)
        break
      case 'extend': {
        if (hold === undefined) break
        await end(
          tally,
          { operation: 'extend', charges: [{ rule: 0, key, amount: 0 }], hold: someTerms(id, 50, false) },
          where(step),
        )
        held.set(id, { ...hold, expiresAt: nowMs + 50 })
        break
      }
      case 'hit': {
        if (amount < 1 || amount > rule.limit || random.whole(0, 3) > 0) break
        const figures = await tally.ask({ operation: 'hit', charges: [{ rule: 0, key, amount }] })
        if ((figures[1] === 0) !== room >= amount) throw new Error(`${where(step)}: a hit of ${amount} where ${room} were free`)
        if (figures[1] === 0) charged += amount
        break
      }
      case 'peek':
        await tally.ask({ operation: 'peek', charges: [{ rule: 0, key, amount: 1 }] })
    }
    const [used] = await tally.ask({ operation: 'get', charges: [{ rule: 0, key, amount: 0 }] })
    const expected = charged + holds()
    if (used !== expected) throw new Error(`${where(step)}: ${used} used, where ${charged} were charged and ${holds()} are held`)
    if (used > rule.limit) throw new Error(`${where(step)}: ${used} used of ${rule.limit}`)
    if (charged > rule.limit / 2 && random.whole(0, 5) === 0) {
      // Room for the next part of the walk.
      await tally.ask({ operation: 'refund', charges: [{ rule: 0, key, amount: charged }] })
      charged = 0
    }
  }
}

function someTerms(id: number, ttlMs: number, isCharged: boolean): HoldTerms {
  return { id, ttlMs, isCharged, most: 1000 }
}

async function end(tally: Tally, call: Call, where: string): Promise<void> {
  const [found] = await tally.ask(call)
  if (found !== 1) throw new Error(`${where}: ${call.operation} did not find a hold that is open`)
}
