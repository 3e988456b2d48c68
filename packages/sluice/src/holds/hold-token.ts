// The token of a hold: a text with which another process can end the hold.

import type { Charge } from '../core/call.ts'
import { SluiceError } from '../core/errors.ts'
import type { Rule } from '../core/rule.ts'
import { isWhole } from '../core/whole-numbers.ts'
import type { HeldFacts } from './open-hold.ts'

const VERSION = 1

/** The longest token that is read. A hold has a charge for each rule, with its key. */
const LONGEST = 2 ** 20

/** The parts of a token, as JSON. Rules are named, because another process may have them in another order. */
type Parts = readonly [
  version: number,
  id: number,
  expiresAt: number,
  charges: readonly [rule: string, key: string, units: number][],
]

export function writeToken(rules: readonly Rule[], { terms, charges, granted, expiresAt }: HeldFacts): string {
  const held = charges.flatMap(({ rule, key, least }, i) => (least === undefined ? [] : [[rules[rule].name, key, granted[i]]]))
  return JSON.stringify([VERSION, terms.id, expiresAt, held])
}

/** Reads a token. Charges on rules that the limiter does not have are left out. Throws ERR_HOLD if nothing is left. */
export function readToken(token: string, rules: readonly Rule[]): HeldFacts {
  const [, id, expiresAt, held] = partsOf(token)
  const charges: Charge[] = []
  // The charges of a call are in the order of this limiter's rules.
  rules.forEach(({ name }, rule) => {
    const part = held.find(([ofRule]) => ofRule === name)
    if (part !== undefined) charges.push({ rule, key: part[1], amount: part[2], least: part[2] })
  })
  const granted = charges.map(({ amount }) => amount)
  const leftOut = held.flatMap(([name]) => (rules.some((rule) => rule.name === name) ? [] : [name]))
  if (charges.length === 0) throw new SluiceError('ERR_HOLD', 'none of the limiter\u2019s rules has this hold')
  const terms = { id, ttlMs: 0, isCharged: true, most: 0 }
  return { terms, charges, granted, leftOut, expiresAt, allowed: true, isCounted: true, decision: undefined }
}

function partsOf(token: string): Parts {
  const bad = (): SluiceError => new SluiceError('ERR_HOLD', 'this is not the token of a hold')
  if (typeof token !== 'string' || token.length > LONGEST) throw bad()
  let parts: unknown
  try {
    parts = JSON.parse(token)
  } catch {
    throw bad()
  }
  if (!isParts(parts)) throw bad()
  return parts
}

function isParts(parts: unknown): parts is Parts {
  if (!Array.isArray(parts) || parts.length !== 4) return false
  const [version, id, expiresAt, held] = parts
  if (version !== VERSION || !isWhole(id, 0) || !isWhole(expiresAt, 0) || !Array.isArray(held)) return false
  const areCharges = held.every((each) => {
    if (!Array.isArray(each) || each.length !== 3) return false
    const [name, key, units] = each
    return typeof name === 'string' && typeof key === 'string' && key !== '' && isWhole(units, 1)
  })
  // A call has at most one charge for each rule. A second one would end the hold twice.
  return areCharges && new Set(held.map(([name]) => name)).size === held.length
}
