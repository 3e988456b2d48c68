// A call whose charges are on several records, which no swap changes at once. It is charged record by record, in the order of
// their names, and given back if a later one denies.
// Invariants: no limit is exceeded; a denied call leaves nothing charged but what counts denied hits; an error says `refused` only
// if nothing is left charged.

import { type Call, FIGURES, type Figures } from '../core/call.ts'
import { SluiceError } from '../core/errors.ts'
import { runDeniedHit } from './denied-hit.ts'
import { type Charged, takenBack } from './give-back.ts'
import { type NamedCall, runCall } from './loaded-states.ts'
import type { RecordLines, Work } from './record-lines.ts'
import { storeError } from './store-errors.ts'

/** The charges of a call that are on one record. */
export interface Part extends NamedCall {
  readonly record: string
  /** Places of the charges in the whole call. */
  readonly places: readonly number[]
}

export interface SeveralRecords {
  readonly call: Call
  /** Sorted by record. */
  readonly parts: readonly Part[]
  readonly spared: readonly string[]
  readonly lines: RecordLines<unknown>
  readonly attempts: number
}

/** A part that was charged, with its figures; without charges if it denied. */
interface PartCharged {
  readonly part: Part
  readonly figures: Figures
  readonly charged: readonly Charged[] | undefined
}

/** Decides a call over several records. */
export async function askSeveral(several: SeveralRecords): Promise<Figures> {
  const { call, parts } = several
  if (call.operation === 'hit') return hit(several)
  if (call.operation === 'peek') return joined(parts, await Promise.all(parts.map((part) => join(several, part, decided(part)))))
  const figures = await allOrUnknown(parts.map((part) => join(several, part, decided(part))))
  return figures[parts.findIndex(({ places }) => places[0] === 0)]
}

async function hit(several: SeveralRecords): Promise<Figures> {
  const { parts, attempts, lines } = several
  for (let attempt = 1; attempt <= attempts; attempt++) {
    // Asked first without a charge: a call that is denied anyway takes nothing from anybody, not even for a moment.
    const asked = await Promise.all(parts.map((part) => join(several, part, peeked(part))))
    if (asked.some(isDenied)) {
      const figures = await allOrUnknown(parts.map((part) => join(several, part, denied(part))))
      // All may pass by now; then it is decided again.
      if (figures.some(isDenied)) return joined(parts, figures)
    } else {
      const figures = await chargeAll(several)
      if (figures !== undefined) return joined(parts, figures)
    }
    await lines.pause(attempt)
  }
  throw storeError('refused', `others changed the records ${attempts} times while this call was decided; it counted nothing`)
}

/** Charges part by part; returns undefined, and leaves nothing charged, if one denies. */
async function chargeAll(several: SeveralRecords): Promise<readonly Figures[] | undefined> {
  const done: PartCharged[] = []
  for (const part of several.parts) {
    let next: PartCharged
    try {
      next = await join(several, part, charged(part))
    } catch (error) {
      await giveBack(several, done, error)
      throw error
    }
    if (next.charged === undefined) {
      await giveBack(several, done, undefined)
      return undefined
    }
    done.push(next)
  }
  return done.map(({ figures }) => figures)
}

/** Takes back what was charged. Throws ERR_STORE_UNKNOWN if it cannot. */
async function giveBack(several: SeveralRecords, done: readonly PartCharged[], cause: unknown): Promise<void> {
  const given = await Promise.allSettled(
    done.map(({ part, charged = [] }) =>
      join(several, part, (record, nowMs) => {
        for (const each of charged) record.apply(takenBack(each, (name) => record.read(name), nowMs))
      }),
    ),
  )
  const failed = given.find((result) => result.status === 'rejected')
  if (failed === undefined) return
  const message = 'the store failed before a charge could be given back: it may have counted'
  throw new SluiceError('ERR_STORE_UNKNOWN', message, { cause: cause ?? failed.reason })
}

function join<T>({ lines, spared }: SeveralRecords, { record }: Part, work: Work<T>): Promise<T> {
  return lines.join(record, spared, work)
}

function decided(part: Part): Work<Figures> {
  return (record, nowMs) => {
    const { figures, changes } = runCall(part, (name) => record.read(name), nowMs)
    record.apply(changes)
    return figures
  }
}

function peeked(part: Part): Work<Figures> {
  return decided({ ...part, call: { operation: 'peek', charges: part.call.charges } })
}

function denied(part: Part): Work<Figures> {
  return (record, nowMs) => {
    const { figures, changes } = runDeniedHit(part, (name) => record.read(name), nowMs)
    record.apply(changes)
    return figures
  }
}

function charged(part: Part): Work<PartCharged> {
  return (record, nowMs) => {
    const before = part.names.map((name) => record.read(name))
    const { figures, changes } = runCall(part, (name) => record.read(name), nowMs)
    // A denied part writes nothing here: the whole call is decided again.
    if (isDenied(figures)) return { part, figures, charged: undefined }
    record.apply(changes)
    const charges = part.call.charges.flatMap(({ rule, key, amount }, i): Charged[] => {
      const after = record.read(part.names[i])
      return after === undefined ? [] : [{ rule: part.rules[rule], name: part.names[i], key, amount, before: before[i], after }]
    })
    return { part, figures, charged: charges }
  }
}

function isDenied(figures: Figures): boolean {
  return figures.some((figure, i) => i % FIGURES === 1 && figure > 0)
}

/** The figures of the whole call, from those of its parts. */
function joined(parts: readonly Part[], figures: readonly Figures[]): Figures {
  const all: number[] = []
  for (const [i, { places }] of parts.entries()) {
    for (const [j, place] of places.entries()) {
      for (let k = 0; k < FIGURES; k++) all[place * FIGURES + k] = figures[i][j * FIGURES + k]
    }
  }
  return all
}

/** All results. If some changes were made and others were not, the error says so: unknown. */
async function allOrUnknown<T>(asked: readonly Promise<T>[]): Promise<readonly T[]> {
  const settled = await Promise.allSettled(asked)
  const failed = settled.find((result) => result.status === 'rejected')
  if (failed === undefined) return settled.map((result) => (result as PromiseFulfilledResult<T>).value)
  if (settled.every((result) => result.status === 'rejected' && codeOf(result.reason) === codeOf(failed.reason)))
    throw failed.reason
  throw new SluiceError('ERR_STORE_UNKNOWN', 'the store failed for some keys of the call, and may have counted others', {
    cause: failed.reason,
  })
}

function codeOf(reason: unknown): unknown {
  return reason instanceof SluiceError ? reason.code : undefined
}
