// A call whose charges are in several parts of a store, so that no single command reaches all of them.
// A hit peeks at all parts first. If one denies, nothing is charged. Then the hit charges part by part, in one fixed order.
// Another caller may take the last units in between. If a later part denies, the charges of the earlier parts are given back.
// Invariants: no limit is exceeded at any time, because each part decides its own charges in one atomic step. A denied hit leaves
// charges only on rules that count denied hits, and a small rest on a meter that others charged before the give-back.

import { type Call, type Charge, FIGURES, type Figures, type HoldTerms, type Operation } from '../core/call.ts'
import type { Rule } from '../core/rule.ts'
import type { Asker } from '../core/store.ts'
import { isLate, lateError, markMayCount, markUncounted } from './late-calls.ts'
import { ReserveInParts } from './reserve-in-parts.ts'
import { mayHaveCounted, rejectAsUnknown } from './store-errors.ts'

/** The charges of a call in one part. */
export interface PartOfCall {
  readonly part: string
  readonly charges: readonly Charge[]
  /** The index of each charge in the call. */
  readonly indexes: readonly number[]
}

/** Makes a call in one part. */
export type AskPart = (part: string, call: Call) => Promise<Figures>

/** A part that a hit has charged, with its charges. Each charge has the end of its state. */
interface Charged {
  readonly part: string
  readonly charges: readonly (Charge & { readonly endsAt: number })[]
}

export interface PartsContext {
  readonly rules: readonly Rule[]
  readonly ask: AskPart
  readonly asker?: Asker | undefined
}

/** Makes a call in several parts. The parts are charged in the order of the list. */
export async function askInParts(
  { operation, charges, hold }: Call,
  parts: readonly PartOfCall[],
  context: PartsContext,
): Promise<Figures> {
  const { ask } = context
  if (operation === 'hit') return new HitInParts(parts, context).decide()
  if (hold !== undefined) {
    return operation === 'reserve' ? new ReserveInParts(parts, hold, context).decide() : endHold(operation, hold, parts, ask)
  }
  const figures = Promise.all(parts.map(({ part, charges }) => ask(part, { operation, charges })))
  if (operation === 'peek') return joined(parts, await figures)
  // A reset may be repeated. Another call may not, because some parts may have been changed.
  const all = operation === 'reset' ? await figures : await figures.catch(rejectAsUnknown)
  return all[parts.findIndex((part) => part.charges[0] === charges[0])]
}

/**
 * Settles, cancels or extends a hold in every part. If a part does not have the hold any more, because it has expired there or the
 * part was lost, the answer is 0, as if it had ended everywhere. The other parts have done what was asked all the same: what was used
 * is charged there, and nothing stays held. The part without the hold has charged or released it when it expired.
 */
async function endHold(operation: Operation, hold: HoldTerms, parts: readonly PartOfCall[], ask: AskPart): Promise<Figures> {
  const asked = await Promise.allSettled(parts.map(({ part, charges }) => ask(part, { operation, charges, hold })))
  const failed = asked.filter((each) => each.status === 'rejected')
  if (failed.length > 0) {
    // If every part has refused, nothing has ended, and the call may be repeated.
    if (failed.length === parts.length && !failed.some(({ reason }) => mayHaveCounted(reason))) throw failed[0].reason
    rejectAsUnknown(failed[0].reason)
  }
  return [asked.every((each) => each.status === 'fulfilled' && each.value[0] === 1) ? 1 : 0]
}

class HitInParts {
  readonly #parts: readonly PartOfCall[]
  readonly #rules: readonly Rule[]
  readonly #ask: AskPart
  readonly #asker: Asker | undefined

  constructor(parts: readonly PartOfCall[], { rules, ask, asker }: PartsContext) {
    this.#parts = parts
    this.#rules = rules
    this.#ask = ask
    this.#asker = asker
  }

  async decide(): Promise<Figures> {
    markUncounted(this.#asker)
    const seen = await Promise.all(this.#parts.map((part) => this.#peek(part)))
    if (isLate(this.#asker)) throw lateError()
    markMayCount(this.#asker)
    if (seen.some(denies)) return joined(this.#parts, await this.#countDenied(seen).catch(rejectAsUnknown))
    const charged: Charged[] = []
    const figures: Figures[] = []
    for (const { part, charges } of this.#parts) {
      if (isLate(this.#asker)) return this.#fail(lateError(), charged)
      const timed = await this.#ask(part, { operation: 'timedHit', charges }).catch((error) => this.#fail(error, charged))
      const ofPart = timed.slice(0, -1)
      if (denies(ofPart)) return joined(this.#parts, await this.#giveUp(figures.length, ofPart, charged).catch(rejectAsUnknown))
      figures.push(ofPart)
      const nowMs = timed[timed.length - 1]
      charged.push({ part, charges: charges.map((charge, i) => ({ ...charge, endsAt: nowMs + ofPart[i * FIGURES + 2] })) })
    }
    return joined(this.#parts, figures)
  }

  /** Charges the rules that count denied hits, after a peek has denied the hit. Returns the figures of each part. */
  async #countDenied(seen: readonly Figures[]): Promise<readonly Figures[]> {
    const counted = await Promise.all(
      this.#parts.map((part, i) => (this.#countsDenied(part) ? this.#spendAndPeek(part) : seen[i])),
    )
    // A window may have ended since the peek, so that no part denies any more. The hit stays denied, with the figures of the peek.
    return counted.some(denies) ? counted : seen
  }

  /**
   * Gives back the charges of the parts before `denying`, which has denied the hit with `figures`. Charges the rules that count
   * denied hits in the parts after it. Returns the figures of each part.
   */
  #giveUp(denying: number, figures: Figures, charged: readonly Charged[]): Promise<readonly Figures[]> {
    return Promise.all(
      this.#parts.map((part, i) => {
        if (i === denying) return figures
        if (i > denying) return this.#spendAndPeek(part)
        return this.#giveBackAndPeek(part, charged[i])
      }),
    )
  }

  async #giveBackAndPeek(part: PartOfCall, { charges }: Charged): Promise<Figures> {
    const back = charges.filter(({ rule }) => !this.#rules[rule].countsDenied)
    // The peek is queued second, so it sees the units that were given back.
    const given = back.length === 0 ? undefined : this.#giveBack({ part: part.part, charges: back })
    const [figures] = await Promise.all([this.#peek(part), given])
    return figures
  }

  async #spendAndPeek(part: PartOfCall): Promise<Figures> {
    const counting = part.charges.filter(({ rule }) => this.#rules[rule].countsDenied)
    const spent = counting.map((charge) => this.#ask(part.part, { operation: 'inc', charges: [charge] }))
    const [figures] = await Promise.all([this.#peek(part), ...spent])
    return figures
  }

  /** Gives charges back after a part has failed, and rejects with the error. */
  async #fail(error: unknown, charged: readonly Charged[]): Promise<never> {
    const given = await Promise.allSettled(charged.map((each) => this.#giveBack(each)))
    // Units may be left charged, so the hit must not be repeated.
    if (given.some(({ status }) => status === 'rejected')) return rejectAsUnknown(error)
    throw error
  }

  #giveBack({ part, charges }: Charged): Promise<Figures> {
    return this.#ask(part, { operation: 'refund', charges })
  }

  #peek({ part, charges }: PartOfCall): Promise<Figures> {
    return this.#ask(part, { operation: 'peek', charges })
  }

  #countsDenied({ charges }: PartOfCall): boolean {
    return charges.some(({ rule }) => this.#rules[rule].countsDenied)
  }
}

/** True if the figures of a decision have a wait. */
function denies(figures: Figures): boolean {
  for (let i = 1; i < figures.length; i += FIGURES) if (figures[i] > 0) return true
  return false
}

/** Returns the figures of all charges, in the order of the call. */
function joined(parts: readonly PartOfCall[], figures: readonly Figures[]): Figures {
  const all: number[] = []
  parts.forEach(({ indexes }, part) => {
    indexes.forEach((index, i) => {
      for (let figure = 0; figure < FIGURES; figure++) all[index * FIGURES + figure] = figures[part][i * FIGURES + figure]
    })
  })
  return all
}
