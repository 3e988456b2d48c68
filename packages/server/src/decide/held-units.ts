// Units of a hold by the names that a caller uses, for each part of the hold.

import type { Cost, ReserveOptions } from 'sluice'
import type { JointLimiter } from './joint-limiter.ts'

export type Units = Readonly<Record<string, number>>

/** The units of a request to hold. */
export type AskedUnits = Pick<ReserveOptions, 'hold' | 'cost' | 'atLeast'>

/** Applies `of` to all units of a request. */
export function mapUnits({ hold, cost, atLeast }: AskedUnits, of: (units: Cost) => Cost): AskedUnits {
  return {
    ...(hold !== undefined && { hold: of(hold) }),
    ...(cost !== undefined && { cost: of(cost) }),
    ...(atLeast !== undefined && { atLeast: of(atLeast) }),
  }
}

/** True if a reserve would hold units of a rule of the limiter. Otherwise it only charges. */
export function holdsAny(joint: JointLimiter, asked: AskedUnits): boolean {
  const { hold, cost } = mapUnits(asked, (units) => joint.ownUnits(units))
  return joint.rules.some(({ rule, label }) => {
    if (rule.isHeld) return true
    return typeof hold === 'number' ? !names(cost, label) : names(hold, label)
  })
}

/**
 * Returns units by label for the held rules. Other names are kept, so that the hold refuses them, unless they are those of another part of
 * the hold.
 */
export function settledUnits(
  joint: JointLimiter,
  granted: Units,
  used: Cost | undefined,
  isOfOther: (label: string) => boolean,
): Cost | undefined {
  if (typeof used !== 'object') return used
  const isMeant = (label: string): boolean => Object.hasOwn(granted, label) || (Object.hasOwn(used, label) && !isOfOther(label))
  return Object.fromEntries(Object.entries(joint.unitsOf(used)).filter(([label]) => isMeant(label)))
}

/** Returns the units that a settle charges on each held rule. A place is given back, whatever was used. */
export function chargedUnits({ limiter }: JointLimiter, granted: Units, used: Cost | undefined): Units {
  const places = new Set(limiter.rules.filter(({ isHeld }) => isHeld).map(({ name }) => name))
  const unitsOf = (rule: string): number | undefined => {
    if (typeof used !== 'object') return used
    return Object.hasOwn(used, rule) ? used[rule] : undefined
  }
  return Object.fromEntries(
    Object.entries(granted).map(([rule, units]) => [rule, places.has(rule) ? units : (unitsOf(rule) ?? units)]),
  )
}

/** Returns the largest number of a request, which stands for its cost in events. */
export function largest({ hold = 1, cost = 1 }: AskedUnits): number {
  const numbers = [hold, cost].flatMap((units) => (typeof units === 'number' ? units : Object.values(units)))
  return Math.max(1, ...numbers)
}

function names(units: Cost | undefined, label: string): boolean {
  return typeof units === 'object' && Object.hasOwn(units, label)
}
