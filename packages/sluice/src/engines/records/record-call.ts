// A call on records: its charges by record, and the ways in which a part of it runs on one record.

import { type Call, FIGURES, type Figures } from '../../core/call.ts'
import type { Rule } from '../../core/rule.ts'
import { type Cells, type NamedCall, type Outcome, runCall } from '../loaded-states.ts'
import { nameOfKey } from '../state-names.ts'
import { runDeniedHit } from './denied-hit.ts'
import type { Charged } from './give-back.ts'
import type { OpenRecord } from './record.ts'

/** The charges of a call that are on one record. */
export interface Part extends NamedCall {
  readonly record: string
  /** Places of the charges in the whole call. */
  readonly places: readonly number[]
}

export interface RecordCall {
  readonly call: Call
  readonly rules: readonly Rule[]
  /** Sorted by record, without duplicates. */
  readonly parts: readonly Part[]
  /** States of the limiter's rules. */
  readonly spared: readonly string[]
}

/** A record at the store's time. */
export interface At {
  readonly record: OpenRecord
  readonly nowMs: number
}

/** The outcome of one part of a call on one record. */
export interface PartResult {
  readonly figures: Figures
  /** Charges that can be taken back. */
  readonly charged: readonly Charged[]
  /** True if the part wrote something. */
  readonly hasChanged: boolean
  /** True if the part denies a call that all others allow: the whole call is to be decided again. */
  readonly isLost: boolean
}

export interface RecordNames {
  /** Names of the rules' states within a record. */
  readonly states: readonly string[]
  readonly longestName: number
}

/** A call with its charges by record. */
export function recordCall(call: Call, rules: readonly Rule[], { states, longestName }: RecordNames): RecordCall {
  const byRecord = new Map<string, number[]>()
  for (const [place, { key }] of call.charges.entries()) {
    const record = nameOfKey(key, longestName)
    const places = byRecord.get(record)
    if (places === undefined) byRecord.set(record, [place])
    else places.push(place)
  }
  const parts = [...byRecord].map(([record, places]): Part => {
    const charges = places.map((place) => call.charges[place])
    return { record, places, rules, call: { ...call, charges }, names: charges.map(({ rule }) => states[rule]) }
  })
  return { call, rules, spared: states, parts: parts.sort((a, b) => (a.record < b.record ? -1 : 1)) }
}

/** Runs a whole call over open records; returns the result of each part. */
export function runWhole({ call, rules, parts }: RecordCall, records: OpenRecords, nowMs: number): readonly PartResult[] {
  const names: string[] = []
  for (const { record, places, names: states } of parts) {
    for (const [i, place] of places.entries()) names[place] = `${record}|${states[i]}`
  }
  const { figures, changes } = runCall({ call, rules, names }, (name) => readState(records, name), nowMs)
  const isCharged = !isDenied(call, figures)
  return parts.map((part) => {
    // A name holds one bar: no name of a record or of a state within it has one.
    const start = `${part.record}|`
    const own = changes.filter(({ name }) => name.startsWith(start))
    const inRecord = own.map(({ name, cells }) => ({ name: name.slice(start.length), cells }))
    return applied(part, openRecord(records, part.record), { figures: figuresOf(part, figures), changes: inRecord, isCharged })
  })
}

type OpenRecords = ReadonlyMap<string, OpenRecord>

function openRecord(records: OpenRecords, name: string): OpenRecord {
  return records.get(name) as OpenRecord
}

function readState(records: OpenRecords, name: string): Cells {
  const bar = name.indexOf('|')
  return openRecord(records, name.slice(0, bar)).read(name.slice(bar + 1))
}

/** Runs a part of a call on several records again, on a fresh record. `wasDenied`: the call is a hit that was denied as a whole. */
export function runAgain(part: Part, { record, nowMs }: At, wasDenied: boolean): PartResult {
  const run = wasDenied ? runDeniedHit : runCall
  const outcome = run(part, (name) => record.read(name), nowMs)
  const isLost = !wasDenied && isDenied(part.call, outcome.figures)
  return isLost
    ? { ...outcome, charged: [], hasChanged: false, isLost }
    : applied(part, record, { ...outcome, isCharged: !wasDenied })
}

function applied(part: Part, record: OpenRecord, { figures, changes, isCharged }: AppliedOutcome): PartResult {
  const isHit = part.call.operation === 'hit'
  const before = isHit && isCharged ? part.names.map((name) => record.read(name)) : []
  record.apply(changes)
  const charged = before.flatMap((cells, i): Charged[] => {
    const after = record.read(part.names[i])
    const { rule, key, amount } = part.call.charges[i]
    return after === undefined ? [] : [{ rule: part.rules[rule], name: part.names[i], key, amount, before: cells, after }]
  })
  return { figures, charged, hasChanged: changes.length > 0, isLost: false }
}

interface AppliedOutcome extends Outcome {
  /** False for a hit that was denied: it left nothing to take back. */
  readonly isCharged: boolean
}

/** True for a hit with a wait. */
export function isDenied({ operation }: Call, figures: Figures): boolean {
  return operation === 'hit' && figures.some((figure, i) => i % FIGURES === 1 && figure > 0)
}

/** The figures of a part, out of those of the whole call. */
function figuresOf({ call, places }: Part, figures: Figures): Figures {
  if (call.operation !== 'hit' && call.operation !== 'peek') return figures
  return places.flatMap((place) => figures.slice(place * FIGURES, (place + 1) * FIGURES))
}

/** The figures of the whole call, from those of its parts. */
export function joinedFigures({ call, parts }: RecordCall, results: readonly PartResult[]): Figures {
  if (call.operation !== 'hit' && call.operation !== 'peek')
    return results[parts.findIndex(({ places }) => places[0] === 0)].figures
  const all: number[] = []
  for (const [i, { places }] of parts.entries()) {
    for (const [j, place] of places.entries()) {
      for (let k = 0; k < FIGURES; k++) all[place * FIGURES + k] = results[i].figures[j * FIGURES + k]
    }
  }
  return all
}
