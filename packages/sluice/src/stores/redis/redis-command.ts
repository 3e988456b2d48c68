// A command that decides calls: the program, the names of all states, and the arguments. Hits that all have the same rules go to a
// small program with plain arguments, other calls to the general program.

import type { Charge, HoldTerms, Operation } from '../../core/call.ts'
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
  /** True if all charges of a call have one key. */
  readonly areOfOneKey: boolean
  /** The arguments of hits with a cost of 1 on these rules, as most hits have it. */
  readonly hitsOfOne: readonly string[]
  /** The text after the key in the name of a state, for each rule. */
  readonly ends: readonly string[]
  /** The ends as JSON. Equal if two calls on the same keys have the same names. */
  readonly endsJson: string
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

/**
 * The first argument of hits. Two hits with `ONE_KEY` have the same names, or none in common. So the program can tell by the first name
 * of a hit if its states are as they were read.
 */
const ONE_KEY = '='
const ANY_KEYS = '*'

/** Describes rules for commands. Throws ERR_RULE if there is no translation of a rule. */
export function describeRules(rules: readonly Rule[], keys: RedisKeys): RedisRules {
  const args = [String(rules.length), ...rules.flatMap(programArguments)]
  // Rules that count by the same names of a subject, or by none, have the same key in every call.
  const areOfOneKey = rules.every(({ per }) => String(per) === String(rules[0].per))
  const ends = rules.map((rule) => keys.endOf(rule))
  return {
    arguments: args,
    json: JSON.stringify(args),
    areOfOneKey,
    hitsOfOne: rules.length === 1 ? args.slice(1) : [areOfOneKey ? ONE_KEY : ANY_KEYS, '1', ...args],
    ends,
    endsJson: JSON.stringify(ends),
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
    const isSmall = areHitsOnSameRules(calls)
    this.program = isSmall ? calls[0].rules.program : GENERAL_PROGRAM
    this.#body = isSmall ? bodyOfHits(calls) : bodyOfCalls(calls)
  }

  /**
   * Adds the arguments of EVALSHA after the program to `words`, and returns them: the number of declared keys, these keys, and the
   * other arguments. They are added one by one: spreading lists takes several times as long for a lone hit.
   */
  arguments({ nowMs, note, keyPrefix = '', isUndeclared = false }: Sending = {}, words: string[] = []): string[] {
    const body = this.#body
    if (isUndeclared) {
      words.push('0')
      if (nowMs === undefined) words.push('n', String(2 + body.length))
      else words.push('x', String(4 + body.length), String(nowMs), '')
    } else {
      words.push(String(this.names.length + (note === undefined ? 0 : 1)))
      this.#addNames(keyPrefix, words)
      if (note !== undefined) words.push(note.name)
      if (nowMs !== undefined) words.push('x', '0', String(nowMs))
      if (note !== undefined) words.push(String(note.value), String(note.bit))
      else if (nowMs !== undefined) words.push('')
    }
    for (let i = 0; i < body.length; i++) words.push(body[i])
    if (isUndeclared) this.#addNames(keyPrefix, words)
    return words
  }

  #addNames(keyPrefix: string, words: string[]): void {
    const { names } = this
    for (let i = 0; i < names.length; i++) words.push(keyPrefix === '' ? names[i] : keyPrefix + names[i])
  }

  /** Returns the answer to each call. */
  read(reply: unknown): readonly ScriptedAnswer[] {
    return readAnswers(reply, this.calls)
  }
}

function areHitsOnSameRules(calls: readonly RedisCall[]): boolean {
  const { rules } = calls[0]
  for (let i = 0; i < calls.length; i++) {
    const call = calls[i]
    if (call.operation !== 'hit' || (call.rules !== rules && call.rules.json !== rules.json)) return false
  }
  return true
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
function bodyOfHits(calls: readonly RedisCall[]): readonly string[] {
  const { charges, rules } = calls[0]
  const cost = charges[0].amount
  const haveOneKey = rules.areOfOneKey && haveSameEnds(calls)
  const areOfCost = haveCost(calls, cost)
  if (areOfCost && cost === 1 && (haveOneKey === rules.areOfOneKey || charges.length === 1)) return rules.hitsOfOne
  const body = [haveOneKey ? ONE_KEY : ANY_KEYS, areOfCost ? String(cost) : '', ...rules.arguments]
  if (!areOfCost) for (const call of calls) for (const { amount } of call.charges) body.push(String(amount))
  return body
}

/** False if calls on the same keys may have names that are only partly the same: limiters may share a rule. */
function haveSameEnds(calls: readonly RedisCall[]): boolean {
  const { rules } = calls[0]
  for (let i = 1; i < calls.length; i++) {
    if (calls[i].rules !== rules && calls[i].rules.endsJson !== rules.endsJson) return false
  }
  return true
}

/** True if all charges have this cost. */
function haveCost(calls: readonly RedisCall[], cost: number): boolean {
  for (let i = 0; i < calls.length; i++) {
    const { charges } = calls[i]
    for (let j = 0; j < charges.length; j++) if (charges[j].amount !== cost) return false
  }
  return true
}

/** Consecutive calls that differ only in their keys. */
interface Run {
  readonly operation: string
  readonly rules: string
  readonly amount: number | string
  count: number
}

/** Numbers that calls share, by their texts. They are sent once. */
class Shared {
  readonly texts: string[] = []
  readonly #places = new Map<string, number>()

  /** Returns the place of a text, from 1 on. */
  placeOf(text: string): number {
    let place = this.#places.get(text)
    if (place === undefined) {
      place = this.texts.push(text)
      this.#places.set(text, place)
    }
    return place
  }
}

/** Returns the arguments of the general program, as general.lua reads them. */
function bodyOfCalls(calls: readonly RedisCall[]): string[] {
  const sets = new Shared()
  const terms = new Shared()
  const runs: string[] = []
  const ids: number[] = []
  let last: Run | undefined
  const endRun = (): void => {
    if (last !== undefined) runs.push(`"${last.operation}",${sets.placeOf(last.rules)},${last.amount},${last.count}`)
  }
  let before: RedisCall | undefined
  for (const call of calls) {
    const { operation, hold } = call
    const rules = call.rules.json
    let amount: number | string
    if (hold === undefined) amount = amountOf(call)
    else {
      ids.push(hold.id)
      // The terms of most calls are those of the call before. Comparing them takes a fraction of the time of writing them.
      if (last !== undefined && before !== undefined && haveSameTerms(call, before)) amount = last.amount
      else amount = terms.placeOf(termsOf(operation, call.charges, hold))
    }
    before = call
    if (last !== undefined && operation === last.operation && rules === last.rules && amount === last.amount) last.count += 1
    else {
      endRun()
      last = { operation, rules, amount, count: 1 }
    }
  }
  endRun()
  const ofHolds = ids.length === 0 ? '' : `,"terms":[${terms.texts.join()}],"ids":[${ids.join()}]`
  return [`{"sets":[${sets.texts.join()}],"runs":[${runs.join()}]${ofHolds}}`]
}

/** Returns the amount of all charges; a list if they differ, followed by the ends of the states if there are any. */
function amountOf({ charges }: RedisCall): number | string {
  const { amount, endsAt } = charges[0]
  if (endsAt !== undefined) return `[${[...charges.map((charge) => charge.amount), ...charges.map((charge) => charge.endsAt)]}]`
  for (let i = 1; i < charges.length; i++) if (charges[i].amount !== amount) return `[${charges.map((charge) => charge.amount)}]`
  return amount
}

/** True if two calls about holds have the same operation and terms, without the ids. */
function haveSameTerms(a: RedisCall, b: RedisCall): boolean {
  if (a.operation !== b.operation || a.charges.length !== b.charges.length) return false
  for (let i = 0; i < a.charges.length; i++) {
    if (a.charges[i].amount !== b.charges[i].amount || a.charges[i].least !== b.charges[i].least) return false
  }
  return a.hold?.ttlMs === b.hold?.ttlMs && a.hold?.isCharged === b.hold?.isCharged && a.hold?.most === b.hold?.most
}

/** Returns the amounts and the terms of a hold without its id, as held-operations.lua reads them. */
function termsOf(operation: Operation, charges: readonly Charge[], { ttlMs, isCharged, most }: HoldTerms): string {
  let amounts = ''
  let leasts = ''
  for (const { amount, least } of charges) {
    amounts += `${amount},`
    leasts += `${least ?? -1},`
  }
  return operation === 'reserve' ? `[${amounts}${leasts}${ttlMs},${isCharged ? 1 : 0},${most}]` : `[${amounts}${ttlMs}]`
}
