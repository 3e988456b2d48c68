// Finds the most that a rule can let through, by trying all possible traffic. For rules with tiny numbers.

import type { Rule } from '../src/core/rule.ts'

/**
 * The most units that any traffic of hits can get through within `intervalMs` (that many milliseconds, from wherever the
 * interval starts), after any traffic in the `warmUpMs` before it.
 */
export function mostLetThrough(rule: Rule, intervalMs: number, warmUpMs: number): number {
  // A multiple of every small window, so that windows on the clock start here too.
  const startMs = 2_520_000
  const seen = new Map<string, number>()

  /** The most that can still pass in `leftMs` milliseconds from `nowMs` on. */
  const most = (cells: Float64Array, nowMs: number, leftMs: number): number => {
    if (leftMs === 0) return 0
    const id = `${nowMs} ${leftMs} ${cells}`
    const known = seen.get(id)
    if (known !== undefined) return known
    let best = 0
    for (const { passed, next } of outcomes(rule, cells, nowMs)) best = Math.max(best, passed + most(next, nowMs + 1, leftMs - 1))
    seen.set(id, best)
    return best
  }

  let best = 0
  let states = new Map([['', emptyCells(rule)]])
  for (let nowMs = startMs; nowMs <= startMs + warmUpMs; nowMs++) {
    const following = new Map<string, Float64Array>()
    for (const cells of states.values()) {
      best = Math.max(best, most(cells, nowMs, intervalMs))
      for (const { next } of outcomes(rule, cells, nowMs)) following.set(String(next), next)
    }
    states = following
  }
  return best
}

interface Outcome {
  readonly passed: number
  readonly next: Float64Array
}

/** Everything that can happen within one millisecond: nothing, or a hit of any cost (several hits are as one of their sum). */
function outcomes(rule: Rule, cells: Float64Array, nowMs: number): Outcome[] {
  const settled = cells.slice()
  rule.settle(settled, 0, nowMs)
  const all: Outcome[] = [{ passed: 0, next: settled }]
  for (let cost = 1; cost <= rule.limit + 1; cost++) {
    const allowed = rule.waitMs(settled, 0, nowMs, cost) === 0
    if (!allowed && !rule.countsDenied) continue
    const next = settled.slice()
    rule.spend(next, 0, nowMs, cost)
    all.push({ passed: allowed ? cost : 0, next })
  }
  return all
}

function emptyCells(rule: Rule): Float64Array {
  const empty = new Float64Array(rule.width)
  if (rule.log === undefined) return empty
  // A log of costs of at least 1 within the limit never has more entries than the limit; each is two cells.
  const cells = new Float64Array(rule.log.widthToSpend(empty, 0) + 2 * rule.limit)
  rule.log.move(empty, 0, cells, 0, cells.length)
  return cells
}
