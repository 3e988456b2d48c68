// A command: the text that lets Postgres decide calls, and the reader of its answer. program/calls.plpgsql describes both.

import { clocksApart } from '../../algorithms/calendar-window/bounded-window.ts'
import { figureCount, type Operation } from '../../core/call.ts'
import type { SluiceError } from '../../core/errors.ts'
import type { ScriptedAnswer, ScriptedCall } from '../../engines/scripted.ts'
import { damaged } from '../../engines/state-codec.ts'
import { LONGEST_NAME, plainName, shortName } from '../../engines/state-names.ts'
import { quoted } from './locked-rows.ts'
import type { FunctionNames } from './postgres-functions.ts'
import { ALGORITHM_AT, type RuleNumbers } from './rule-numbers.ts'
import { LEVEL } from './two-round-trips.ts'

export type PostgresCall = ScriptedCall<RuleNumbers>

const OPERATIONS: Readonly<Record<Operation, number>> = {
  hit: 0,
  timedHit: 1,
  peek: 2,
  inc: 3,
  set: 4,
  refund: 5,
  reset: 6,
  get: 7,
  expiresAt: 8,
  reserve: 9,
  settle: 10,
  cancel: 11,
  extend: 12,
}

const READS: ReadonlySet<Operation> = new Set<Operation>(['peek', 'get', 'expiresAt'])

/** Actions of the rules' functions, by operation. Only these operations have a short way for a lone call. */
const ACTIONS: Partial<Readonly<Record<Operation, number>>> = { hit: 1, inc: 2, set: 3, refund: 4 }

export interface Sending {
  readonly functions: FunctionNames
  readonly isDurable: boolean
  /** The time in ms, if the server's own clock does not count. */
  readonly nowMs: number | undefined
}

export class PostgresCommand {
  readonly calls: readonly PostgresCall[]
  /** The names of all rows, sorted, without duplicates. */
  readonly names: readonly string[]
  /** True if no call changes anything. */
  readonly readsOnly: boolean
  /** The name of each charge's row, for each call in order. */
  readonly chargeNames: readonly string[]

  constructor(calls: readonly PostgresCall[]) {
    this.calls = calls
    this.chargeNames = namesOf(calls)
    this.names = this.chargeNames.length === 1 ? this.chargeNames : [...new Set(this.chargeNames)].sort()
    this.readsOnly = calls.every(({ operation }) => READS.has(operation))
  }

  /** Returns the text of the command. Several statements in one text are one transaction. */
  text(sending: Sending): string {
    const level = sending.functions.isReadCommitted ? '' : `SET TRANSACTION ${LEVEL};`
    return level + this.#call(sending)
  }

  #call({ functions, isDurable, nowMs }: Sending): string {
    const [{ operation, charges, rules }] = this.calls
    const names = quoted(this.names.join(' '))
    const settings = `${isDurable},${nowMs ?? 'NULL'}`
    const action = ACTIONS[operation]
    if (this.calls.length === 1 && charges.length === 1 && action !== undefined) {
      const { amount, endsAt } = charges[0]
      return `SELECT ${functions.single}(${names},${action},${amount},${endsAt ?? 'NULL'},'{${rules.texts[0]}}',${settings})`
    }
    const { rules: rulesText, numbers } = this.#numbers()
    return `SELECT ${functions.calls}(${names},'{${numbers}}','{${rulesText}}',${this.readsOnly},${settings})`
  }

  /** Returns the answer to each call. Throws if the text is no answer to these calls. */
  read(text: unknown): ScriptedAnswer[] {
    const figures = String(text).split(',').map(figureOf)
    const answers: ScriptedAnswer[] = []
    let at = 0
    let charge = 0
    for (const call of this.calls) {
      if (figures[at] < 0) {
        answers.push(this.#failure(-2 - figures[at], charge))
        at += 1
      } else {
        const end = at + figureCount(call)
        answers.push(figures.slice(at, end))
        at = end
      }
      charge += call.charges.length
    }
    if (at !== figures.length || figures.some(Number.isNaN)) {
      throw new Error(`the function returned ${figures.length} figures where ${at} belong: ${text}`)
    }
    return answers
  }

  /** Returns the error of a call. `failure` is twice the index of the failed charge, and 1 more if its rule has no window. */
  #failure(failure: number, firstCharge: number): SluiceError {
    if (failure % 2 === 1) return clocksApart()
    return damaged(this.chargeNames[firstCharge + failure / 2], 'its cells are no state of the rule')
  }

  /** Returns the arguments `calls` and `rules` of the function. Equal rules are sent once. */
  #numbers(): { readonly rules: string; readonly numbers: string } {
    const rowAt = new Map(this.names.map((name, i) => [name, i + 1]))
    const ruleAt = new Map<string, number>()
    let length = 0
    let charge = 0
    const numbers: number[] = []
    for (const { operation, charges, hold, rules } of this.calls) {
      numbers.push(OPERATIONS[operation], charges.length)
      for (let i = 0; i < charges.length; i++) {
        const text = rules.texts[i]
        let at = ruleAt.get(text)
        if (at === undefined) {
          at = length + 1 + ALGORITHM_AT
          ruleAt.set(text, at)
          length += text.split(',').length
        }
        const { amount, endsAt, least } = charges[i]
        numbers.push(rowAt.get(this.chargeNames[charge]) as number, at, amount, endsAt ?? least ?? -1)
        charge += 1
      }
      if (hold !== undefined) numbers.push(hold.id, hold.ttlMs, hold.isCharged ? 1 : 0, hold.most)
    }
    return { rules: [...ruleAt.keys()].join(), numbers: numbers.join() }
  }
}

function namesOf(calls: readonly PostgresCall[]): string[] {
  const names: string[] = []
  for (const { charges, rules } of calls) {
    let key: string | undefined
    let start = ''
    for (let i = 0; i < charges.length; i++) {
      if (charges[i].key !== key) {
        key = charges[i].key
        start = plainName(key)
      }
      names.push(shortName(start + rules.ends[i], LONGEST_NAME))
    }
  }
  return names
}

/** −1 means Infinity. */
function figureOf(text: string): number {
  const figure = text === '' ? Number.NaN : Number(text)
  return figure === -1 ? Number.POSITIVE_INFINITY : figure
}
