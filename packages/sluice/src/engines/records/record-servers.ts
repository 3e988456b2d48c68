// The servers of a store whose records lie on several servers. A server that is away fails its own records, and no others.

import type { Call } from '../../core/call.ts'
import type { PartOutcomes } from '../../core/store.ts'
import { PartsAsked } from '../parts-asked.ts'
import { nameOfKey } from '../state-names.ts'
import type { NoteQuestion } from './record-call.ts'

export class RecordServers {
  readonly #serverOf: (record: string) => string
  readonly #longestName: number
  /** For each call on several servers, the outcome of each server. */
  readonly #asked = new WeakMap<Call, PartsAsked>()

  constructor(serverOf: (record: string) => string, longestName: number) {
    this.#serverOf = serverOf
    this.#longestName = longestName
  }

  /** Returns the servers of a call. */
  partsOf({ charges }: Call): readonly string[] {
    const ofKey = (key: string): string => this.#serverOf(nameOfKey(key, this.#longestName))
    return charges.length === 1 ? [ofKey(charges[0].key)] : [...new Set(charges.map(({ key }) => ofKey(key)))]
  }

  outcomesOf(call: Call): PartOutcomes | undefined {
    return this.#asked.get(call)?.outcomes
  }

  /** Returns the function that notes the questions of a call. Undefined if all of its records are on one server. */
  noted(call: Call, records: readonly string[]): NoteQuestion | undefined {
    if (records.length === 1 || new Set(records.map(this.#serverOf)).size === 1) return undefined
    const asked = new PartsAsked()
    this.#asked.set(call, asked)
    return (record, answer) => void asked.note(this.#serverOf(record), answer)
  }
}
