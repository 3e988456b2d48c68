// A reserve whose charges are in several parts of a store.
// It peeks at all parts first. If one denies, nothing is held or spent. Then it reserves part by part, in one fixed order. If a later
// part denies, the earlier parts cancel the hold, and give back what was spent.
// Invariants: no limit is exceeded at any time, because each part decides its own charges in one atomic step. A denied reserve leaves
// nothing held, and charges only on rules that count denied hits. If an answer was lost, the call fails, and what one part may still
// hold expires with its ttl.

import { type Call, type Charge, FIGURES, type Figures, type HoldTerms } from '../core/call.ts'
import { DENIED, FULL_OF_HOLDS, GRANTED } from '../core/held-step.ts'
import type { Rule } from '../core/rule.ts'
import type { Asker } from '../core/store.ts'
import type { AskPart, PartOfCall, PartsContext } from './call-in-parts.ts'
import { isLate, lateError, markMayCount, markUncounted } from './late-calls.ts'
import { mayHaveCounted, rejectAsUnknown } from './store-errors.ts'

export class ReserveInParts {
  readonly #parts: readonly PartOfCall[]
  readonly #hold: HoldTerms
  readonly #rules: readonly Rule[]
  readonly #ask: AskPart
  readonly #asker: Asker | undefined

  constructor(parts: readonly PartOfCall[], hold: HoldTerms, { rules, ask, asker }: PartsContext) {
    this.#parts = parts
    this.#hold = hold
    this.#rules = rules
    this.#ask = ask
    this.#asker = asker
  }

  async decide(): Promise<Figures> {
    markUncounted(this.#asker)
    const seen = await Promise.all(this.#parts.map((part) => this.#peek(part)))
    if (isLate(this.#asker)) throw lateError()
    markMayCount(this.#asker)
    if (seen.some(isDenied)) return joinedReserve(this.#parts, await this.#countDenied(seen).catch(rejectAsUnknown))
    const reserved: Figures[] = []
    for (const { part, charges } of this.#parts) {
      if (isLate(this.#asker)) return this.#fail(lateError(), reserved)
      const call: Call = { operation: 'reserve', charges, hold: this.#hold }
      const figures = await this.#ask(part, call).catch((error) => this.#fail(error, reserved))
      if (isDenied(figures)) return joinedReserve(this.#parts, await this.#giveUp(figures, reserved).catch(rejectAsUnknown))
      reserved.push(figures)
    }
    return joinedReserve(this.#parts, reserved)
  }

  /** Charges the rules that count denied hits, after a peek has denied the call. Returns the figures of each part. */
  async #countDenied(seen: readonly Figures[]): Promise<readonly Figures[]> {
    const counted = await Promise.all(this.#parts.map((part) => this.#spendAndPeek(part)))
    // A window may have ended since the peek, so that no part denies any more. The call stays denied, with the figures of the peek.
    return counted.some(isDenied) ? counted : seen
  }

  /** Ends the hold in the parts before the one that has denied the call. Returns the figures of each part. */
  #giveUp(denial: Figures, reserved: readonly Figures[]): Promise<readonly Figures[]> {
    const isFull = denial[denial.length - 1] === FULL_OF_HOLDS
    return Promise.all(
      this.#parts.map(async (part, i) => {
        if (i === reserved.length) return denial
        // If a key is full of holds, denied hits do not count.
        if (i > reserved.length) return isFull ? this.#peek(part) : this.#spendAndPeek(part)
        const undone = this.#undo(part, reserved[i], isFull)
        // The peek is queued last, so it sees the units that were given back.
        const [figures] = await Promise.all([this.#peek(part), ...undone])
        return figures
      }),
    )
  }

  /** Cancels the hold of a part, and gives back what the part has spent, except on rules that count denied hits. */
  #undo({ part, charges }: PartOfCall, figures: Figures, isAll: boolean): Promise<Figures>[] {
    const nowMs = figures[figures.length - 2]
    const spent = charges.flatMap(({ rule, key, amount, least }, i): Charge[] => {
      const isKept = least !== undefined || (!isAll && this.#rules[rule].countsDenied)
      return isKept ? [] : [{ rule, key, amount, endsAt: nowMs + figures[i * FIGURES + 2] }]
    })
    const calls = this.#cancel({ part, charges })
    return spent.length === 0 ? calls : [...calls, this.#ask(part, { operation: 'refund', charges: spent })]
  }

  #cancel({ part, charges }: Pick<PartOfCall, 'part' | 'charges'>): Promise<Figures>[] {
    const held = charges.filter(({ least }) => least !== undefined).map(({ rule, key }) => ({ rule, key, amount: 0 }))
    return held.length === 0 ? [] : [this.#ask(part, { operation: 'cancel', charges: held, hold: this.#hold })]
  }

  async #spendAndPeek(part: PartOfCall): Promise<Figures> {
    const counting = part.charges.filter(({ rule, least }) => least === undefined && this.#rules[rule].countsDenied)
    const spent = counting.map((charge) => this.#ask(part.part, { operation: 'inc', charges: [charge] }))
    const [figures] = await Promise.all([this.#peek(part), ...spent])
    return figures
  }

  /** Undoes the parts that were reserved after a later part has failed, and rejects with the error. */
  async #fail(error: unknown, reserved: readonly Figures[]): Promise<never> {
    // The failed part may have held units, though its answer was lost. A hold that is not there is no error.
    const lost = Promise.allSettled(mayHaveCounted(error) ? this.#cancel(this.#parts[reserved.length]) : [])
    const undone = await Promise.allSettled(reserved.flatMap((figures, i) => this.#undo(this.#parts[i], figures, true)))
    await lost
    // Units may be left held, so the call must not be repeated.
    if (undone.some(({ status }) => status === 'rejected')) return rejectAsUnknown(error)
    throw error
  }

  /** Returns the figures that a reserve would have in a part that grants nothing. */
  async #peek({ part, charges }: PartOfCall): Promise<Figures> {
    const asked = charges.map(({ rule, key, amount, least }) => ({ rule, key, amount: least ?? amount }))
    const figures = await this.#ask(part, { operation: 'peek', charges: asked })
    const isOver = figures.some((figure, i) => i % FIGURES === 1 && figure > 0)
    return [...figures, ...charges.map(() => 0), 0, isOver ? DENIED : GRANTED]
  }
}

function isDenied(figures: Figures): boolean {
  return figures[figures.length - 1] !== GRANTED
}

/** The charges of a call that are decided together, by their indexes in the call. */
interface Indexed {
  readonly indexes: readonly number[]
}

/** Joins the figures of the parts of a reserve. Its time is the earliest of the parts' times: the hold ends no earlier anywhere. */
export function joinedReserve(parts: readonly Indexed[], figures: readonly Figures[]): Figures {
  const count = parts.reduce((sum, { indexes }) => sum + indexes.length, 0)
  const all = new Array<number>(count * (FIGURES + 1)).fill(0)
  const outcomes = figures.map((ofPart) => ofPart[ofPart.length - 1])
  const isGranted = outcomes.every((outcome) => outcome === GRANTED)
  parts.forEach(({ indexes }, part) => {
    indexes.forEach((index, i) => {
      for (let figure = 0; figure < FIGURES; figure++) all[index * FIGURES + figure] = figures[part][i * FIGURES + figure]
      if (isGranted) all[count * FIGURES + index] = figures[part][indexes.length * FIGURES + i]
    })
  })
  const nowMs = Math.min(...figures.map((ofPart) => ofPart[ofPart.length - 2]))
  const denial = outcomes.includes(FULL_OF_HOLDS) ? FULL_OF_HOLDS : DENIED
  return [...all, nowMs, isGranted ? GRANTED : denial]
}

/** Returns the figures of one part from the figures of a whole reserve. */
export function partOfReserve({ indexes }: Indexed, figures: Figures): Figures {
  const count = (figures.length - 2) / (FIGURES + 1)
  const own = indexes.flatMap((index) => figures.slice(index * FIGURES, (index + 1) * FIGURES))
  const held = indexes.map((index) => figures[count * FIGURES + index])
  const [nowMs, outcome] = figures.slice(-2)
  const isOver = own.some((figure, i) => i % FIGURES === 1 && figure > 0)
  return [...own, ...held, nowMs, outcome === FULL_OF_HOLDS ? outcome : isOver ? DENIED : GRANTED]
}
