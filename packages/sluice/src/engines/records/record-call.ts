// A call on records. A part of it is all of its charges on one record.

import { type Call, FIGURES, type Figures } from '../../core/call.ts'
import { GRANTED } from '../../core/held-step.ts'
import type { Rule } from '../../core/rule.ts'
import type { Asker } from '../../core/store.ts'
import { type Cells, type NamedCall, type Outcome, runCall } from '../loaded-states.ts'
import { joinedReserve, partOfReserve } from '../reserve-in-parts.ts'
import { nameOfKey } from '../state-names.ts'
import { runDenied } from './denied-hit.ts'
import type { Charged } from './give-back.ts'
import type { OpenRecord } from './record.ts'

/** The charges of a call that are on one record, as a call of their own. */
export interface Part extends NamedCall {
  readonly record: string
  /** Indexes of the charges in the whole call. */
  readonly indexes: readonly number[]
}

export interface RecordCall {
  readonly call: Call
  readonly rules: readonly Rule[]
  /** Sorted by record, without duplicates. */
  readonly parts: readonly Part[]
  /** Names of the states of the limiter's rules. A write keeps these states in a record, also if they have ended. */
  readonly spared: ReadonlySet<string>
  readonly asker?: Asker | undefined
  /** Set if the records are on several servers. Notes what becomes of a question about a record. */
  readonly noted?: NoteQuestion | undefined
}

export type NoteQuestion = (record: string, answer: Promise<unknown>) => void

/** A record at the store's time. */
export interface At {
  readonly record: OpenRecord
  readonly nowMs: number
}

/** The outcome of one part of a call on one record. */
export interface PartResult {
  readonly figures: Figures
  /** Charges that were made and can be undone. */
  readonly charged: readonly Charged[]
  /** True if the part wrote something. */
  readonly hasChanged: boolean
  /** True if the part denies the call on a fresh record, after all parts had allowed it. The whole call is decided again then. */
  readonly isLost: boolean
}

export interface RecordNames {
  /** Names of the rules' states within a record. */
  readonly states: readonly string[]
  /** The same names, as a set. */
  readonly spared: ReadonlySet<string>
  readonly longestName: number
}

/** Makes the parts of a call. */
export function recordCall(call: Call, rules: readonly Rule[], { states, spared, longestName }: RecordNames): RecordCall {
  const { charges } = call
  const [{ key }] = charges
  if (charges.every((charge) => charge.key === key)) {
    const names = charges.map(({ rule }) => states[rule])
    const part = { record: nameOfKey(key, longestName), indexes: charges.map((_, i) => i), rules, call, names }
    return { call, rules, spared, parts: [part] }
  }
  const byRecord = new Map<string, number[]>()
  for (const [index, { key }] of charges.entries()) {
    const record = nameOfKey(key, longestName)
    const indexes = byRecord.get(record)
    if (indexes === undefined) byRecord.set(record, [index])
    else indexes.push(index)
  }
  const parts = [...byRecord].map(([record, indexes]): Part => {
    const own = indexes.map((index) => charges[index])
    return { record, indexes, rules, call: { ...call, charges: own }, names: own.map(({ rule }) => states[rule]) }
  })
  return { call, rules, spared, parts: parts.sort((a, b) => (a.record < b.record ? -1 : 1)) }
}

/** Decides a whole call over records that were read, and changes them. Returns the result of each part. */
export function runWhole({ call, rules, parts }: RecordCall, records: OpenRecords, nowMs: number): readonly PartResult[] {
  const names: string[] = []
  for (const { record, indexes, names: states } of parts) {
    for (const [i, index] of indexes.entries()) names[index] = `${record}|${states[i]}`
  }
  const { figures, changes } = runCall({ call, rules, names }, (name) => readState(records, name), nowMs)
  const isCharged = !isDenied(call, figures)
  return parts.map((part) => {
    // Names of records and of states contain no bar, so the joined name contains one.
    const start = `${part.record}|`
    const own = changes.filter(({ name }) => name.startsWith(start))
    const inRecord = own.map(({ name, cells }) => ({ name: name.slice(start.length), cells }))
    return applied(part, openRecord(records, part.record), { figures: figuresOf(part, figures), changes: inRecord, isCharged })
  })
}

/** Decides a call whose charges are all on one record, and changes the record. */
export function runAlone(part: Part, { record, nowMs }: At): Figures {
  const { figures, changes } = runCall(part, (name) => record.read(name), nowMs)
  record.apply(changes)
  return figures
}

type OpenRecords = ReadonlyMap<string, { readonly record: OpenRecord }>

function openRecord(records: OpenRecords, name: string): OpenRecord {
  return (records.get(name) as { readonly record: OpenRecord }).record
}

function readState(records: OpenRecords, name: string): Cells {
  const bar = name.indexOf('|')
  return openRecord(records, name.slice(0, bar)).read(name.slice(bar + 1))
}

/** Runs one part of a call again, on a record that was read again. `wasDenied` is true if the whole call was denied. */
export function runAgain(part: Part, { record, nowMs }: At, wasDenied: boolean): PartResult {
  const run = wasDenied ? runDenied : runCall
  const outcome = run(part, (name) => record.read(name), nowMs)
  const isLost = !wasDenied && isDenied(part.call, outcome.figures)
  return isLost
    ? { ...outcome, charged: [], hasChanged: false, isLost }
    : applied(part, record, { ...outcome, isCharged: !wasDenied })
}

function applied(part: Part, record: OpenRecord, { figures, changes, isCharged }: AppliedOutcome): PartResult {
  const { hold } = part.call
  const before = canDeny(part.call) && isCharged ? part.names.map((name) => record.read(name)) : []
  record.apply(changes)
  const charged = before.flatMap((cells, i): Charged[] => {
    const after = record.read(part.names[i])
    const { rule, key, amount, least } = part.call.charges[i]
    const held = least === undefined ? {} : { hold }
    return after === undefined
      ? []
      : [{ rule: part.rules[rule], name: part.names[i], key, amount, before: cells, after, ...held }]
  })
  return { figures, charged, hasChanged: changes.length > 0, isLost: false }
}

interface AppliedOutcome extends Outcome {
  /** True if the charges were made and can be undone. False for a denied hit. */
  readonly isCharged: boolean
}

/** True for an operation that is all or nothing. */
export function canDeny({ operation }: Call): boolean {
  return operation === 'hit' || operation === 'reserve'
}

/** True for a hit with a wait, and for a reserve that was not granted. */
export function isDenied({ operation }: Call, figures: Figures): boolean {
  if (operation === 'reserve') return figures[figures.length - 1] !== GRANTED
  return operation === 'hit' && figures.some((figure, i) => i % FIGURES === 1 && figure > 0)
}

/** Returns the figures of one part from the figures of the whole call. */
function figuresOf({ call, indexes }: Part, figures: Figures): Figures {
  if (call.operation === 'reserve') return partOfReserve({ indexes }, figures)
  if (call.operation !== 'hit' && call.operation !== 'peek') return figures
  return indexes.flatMap((index) => figures.slice(index * FIGURES, (index + 1) * FIGURES))
}

/** Returns the figures of the whole call from the figures of its parts. */
export function joinedFigures({ call, parts }: RecordCall, results: readonly PartResult[]): Figures {
  const figures = results.map((result) => result.figures)
  if (call.operation === 'reserve') return joinedReserve(parts, figures)
  // A hold that one record does not have any more has ended, as in `endHold` of call-in-parts.ts.
  if (call.hold !== undefined) return [Math.min(...figures.map(([found]) => found))]
  if (call.operation !== 'hit' && call.operation !== 'peek')
    return results[parts.findIndex(({ indexes }) => indexes[0] === 0)].figures
  const all: number[] = []
  for (const [i, { indexes }] of parts.entries()) {
    for (const [j, index] of indexes.entries()) {
      for (let k = 0; k < FIGURES; k++) all[index * FIGURES + k] = results[i].figures[j * FIGURES + k]
    }
  }
  return all
}
