// Reads parts of the replies of the Lua programs.

import { KINDS, type Marks, readChange } from '../records/found-records.ts'
import type { NumberedChange } from '../records/records-database.ts'

/** Pairs, one after the other. */
export type Flat = readonly string[]

export type StreamEntry = readonly [id: string, fields: Flat]

export function* pairsOf(flat: Flat): Generator<readonly [string, string]> {
  for (let i = 0; i + 1 < flat.length; i += 2) yield [flat[i], flat[i + 1]]
}

export function readMarks(flat: Flat): Marks {
  return new Map([...pairsOf(flat)].map(([mark, last]) => [mark, Number(last)]))
}

export function readNumbered([streamId, [, kind, , id, , text]]: StreamEntry): NumberedChange {
  const isWhole = id !== undefined && text !== undefined
  const change = isWhole ? readChange(KINDS[Number(kind) - 1], id, text === '' ? undefined : text) : undefined
  return { number: Number(streamId.split('-')[0]), change }
}
