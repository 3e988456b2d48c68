// A command that decides calls: the program, the names of all states, and the arguments. Hits that all have the same rules go to a
// small program with plain arguments, other calls to the general program.

import type { Rule } from '../../core/rule.ts'
import type { ScriptedAnswer, ScriptedCall } from '../../engines/scripted.ts'
import type { RedisKeys } from './redis-keys.ts'
import { GENERAL_PROGRAM, type RedisProgram, smallProgram } from './redis-programs.ts'
import { readAnswers } from './redis-reply.ts'
import { programArguments } from './rule-arguments.ts'

/** The rules of a call. */
export interface RedisRules {
  /** The number of rules, and the algorithm and the parameters of each rule, as arguments of a program. */
  readonly arguments: readonly string[]
  /** The arguments as JSON. Equal for equal lists of rules. */
  readonly json: string
  /** The text after the key in the name of a state, for each rule. */
  readonly ends: readonly string[]
  /** The program for hits on these rules. */
  readonly program: RedisProgram
}

export type RedisCall = ScriptedCall<RedisRules>

/** An entry of a sender's note. */
export interface NoteEntry {
  /** The name of the note. */
  readonly name: string
  readonly bit: number
  /** The value that the bit gets if the command is executed. */
  readonly value: 0 | 1
}

/** The circumstances of one sending of a command. */
export interface Sending {
  /** The time in ms, if Redis' own clock does not count. */
  readonly nowMs?: number | undefined
  readonly note?: NoteEntry | undefined
  /** Text before every name, if the client does not add it. */
  readonly keyPrefix?: string | undefined
  /**
   * If true, the names travel as arguments, and no key is declared. So one command reaches names of all slots that a node of a
   * cluster holds. Such a command has no note. Default: all names are declared.
   */
  readonly isUndeclared?: boolean | undefined
}

/** Describes rules for commands. Throws ERR_RULE if there is no translation of a rule. */
export function describeRules(rules: readonly Rule[], keys: RedisKeys): RedisRules {
  const args = [String(rules.length), ...rules.flatMap(programArguments)]
  return {
    arguments: args,
    json: JSON.stringify(args),
    ends: rules.map((rule) => keys.endOf(rule)),
    program: smallProgram(rules),
  }
}

export class RedisCommand {
  readonly calls: readonly RedisCall[]
  readonly program: RedisProgram
  /** The name of each charge's state, for each call in order. */
  readonly names: readonly string[]
  /** The arguments between the header and the names. */
  readonly #body: readonly string[]

  constructor(calls: readonly RedisCall[], keys: RedisKeys) {
    const names: string[] = []
    for (const call of calls) addNames(call, keys, names)
    this.names = names
    this.calls = calls
    const isSmall = haveSameRules(calls) && calls.every(({ operation }) => operation === 'hit')
    this.program = isSmall ? calls[0].rules.program : GENERAL_PROGRAM
    this.#body = isSmall ? bodyOfHits(calls) : bodyOfCalls(calls)
  }

  /** Returns the arguments of EVALSHA after the program: the number of declared keys, these keys, and the other arguments. */
  arguments({ nowMs, note, keyPrefix = '', isUndeclared = false }: Sending = {}): string[] {
    const body = this.#body
    const names = keyPrefix === '' ? this.names : this.names.map((name) => keyPrefix + name)
    if (isUndeclared) {
      const header = ['x', String(4 + body.length), nowMs === undefined ? '' : String(nowMs), '']
      return ['0', ...header, ...body, ...names]
    }
    const header = note === undefined ? [''] : [String(note.value), String(note.bit)]
    if (nowMs !== undefined) header.unshift('x', '0', String(nowMs))
    if (note === undefined) return [String(names.length), ...names, ...header, ...body]
    return [String(names.length + 1), ...names, note.name, ...header, ...body]
  }

  /** Returns the answer to each call. */
  read(reply: unknown): readonly ScriptedAnswer[] {
    return readAnswers(reply, this.calls)
  }
}

function haveSameRules(calls: readonly RedisCall[]): boolean {
  const { rules } = calls[0]
  return calls.every((call) => call.rules === rules || call.rules.json === rules.json)
}

/** Adds the names of a call's states. */
function addNames({ charges, rules }: RedisCall, keys: RedisKeys, names: string[]): void {
  let start = ''
  for (let i = 0; i < charges.length; i++) {
    const { key } = charges[i]
    if (i === 0 || key !== charges[i - 1].key) start = keys.startOf(key)
    names.push(start + rules.ends[i])
  }
}

/** Returns the arguments of a small program, as hits.lua reads them. */
function bodyOfHits(calls: readonly RedisCall[]): string[] {
  const { charges, rules } = calls[0]
  const cost = charges[0].amount
  const isSame = calls.every((call) => call.charges.every(({ amount }) => amount === cost))
  const body = [isSame ? String(cost) : '', ...rules.arguments]
  if (!isSame) for (const call of calls) for (const { amount } of call.charges) body.push(String(amount))
  return body
}

/** Consecutive calls that differ only in their keys. */
interface Run {
  readonly operation: string
  readonly rules: string
  readonly amount: number | string
  count: number
}

/** Returns the arguments of the general program, as general.lua reads them. */
function bodyOfCalls(calls: readonly RedisCall[]): string[] {
  const sets = new Map<string, number>()
  const runs: Run[] = []
  let last: Run | undefined
  for (const call of calls) {
    const { operation } = call
    const rules = call.rules.json
    const amount = amountOf(call)
    if (last !== undefined && operation === last.operation && rules === last.rules && amount === last.amount) {
      last.count += 1
    } else {
      if (!sets.has(rules)) sets.set(rules, sets.size + 1)
      last = { operation, rules, amount, count: 1 }
      runs.push(last)
    }
  }
  const runTexts = runs.map(({ operation, rules, amount, count }) => `"${operation}",${sets.get(rules)},${amount},${count}`)
  return [`{"sets":[${[...sets.keys()].join()}],"runs":[${runTexts.join()}]}`]
}

/** Returns the amount of all charges; a list if they differ, followed by the ends of the states if there are any. */
function amountOf({ charges }: RedisCall): number | string {
  const { amount, endsAt } = charges[0]
  if (endsAt !== undefined) return `[${[...charges.map((charge) => charge.amount), ...charges.map((charge) => charge.endsAt)]}]`
  for (let i = 1; i < charges.length; i++) if (charges[i].amount !== amount) return `[${charges.map((charge) => charge.amount)}]`
  return amount
}
