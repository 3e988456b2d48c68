// Messages from the store to an object, and back, as JSON. This file is the sender's side; read-message.ts is the object's side.
// A set is the list of rules of a call: `[[algorithm, parameters], …]` as text. A call is `[operation, set, names, amounts, ends, hold]`:
// the index of its set, and for each charge the name of its state, its amount, and for some refunds its `endsAt`. For a reserve, `ends`
// has the `least` of each charge instead, or 0 if it is spent. `hold` is `[id, ttlMs, isCharged, most]`, if the call is about a hold.
// Invariant: a change of the format has a new VERSION. Worker and object may be of different versions while one of them is deployed.
// An operation that an object does not know is refused, and counts nothing.

import { ruleFromParameters } from '../../algorithms/rule-from-parameters.ts'
import type { Figures } from '../../core/call.ts'
import { SluiceError, show } from '../../core/errors.ts'
import type { Rule, RuleParameters } from '../../core/rule.ts'
import type { ScriptedAnswer, ScriptedCall } from '../../engines/scripted.ts'
import { LONGEST_NAME, plainName, rulePart, shortName } from '../../engines/state-names.ts'

export const VERSION = 1

/** The most calls in one message, and the most rules of one call. */
export const MOST_CALLS = 256
export const MOST_RULES = 64

/** More than a message with the most calls, rules and characters. */
export const MOST_BYTES = 8 * 1024 * 1024

/** The most holds of one state. They take 240 kB of its row. */
export const MOST_HOLDS = 10_000

/** A row of a Durable Object holds 2 MB. A log of so many entries takes 1.6 MB, which leaves space for its holds. */
const MOST_LOG_ENTRIES = 100_000

/** In messages, −1 stands for Infinity, which JSON does not have. No figure is negative. */
const INFINITE = -1

export type RuleTuple = readonly [algorithm: string, parameters: RuleParameters]

export type CallTuple = readonly [
  operation: string,
  set: number,
  names: readonly string[],
  amounts: readonly number[],
  ends?: readonly number[] | null,
  hold?: HoldTuple,
]

export type HoldTuple = readonly [id: number, ttlMs: number, isCharged: boolean, most: number]

/** `calls` asks for decisions, `clean` drops states that have ended, `size` counts states. */
export type Task = 'calls' | 'clean' | 'size'

export interface Message {
  readonly version: number
  readonly task: Task
  readonly sets?: readonly string[]
  readonly calls?: readonly CallTuple[]
}

/** An error in a reply. */
export interface ErrorReply {
  readonly code: string
  readonly message: string
}

export interface Reply {
  readonly version: number
  readonly answers?: readonly (readonly number[] | ErrorReply)[]
  readonly count?: number
  readonly error?: ErrorReply
}

/** The rules of a call, as the store describes them. */
export interface ObjectRules {
  readonly set: string
  /** The text after the key in the name of a state, for each rule. */
  readonly ends: readonly string[]
}

export type ObjectCall = ScriptedCall<ObjectRules>

/** Describes rules for messages. Throws ERR_RULE if an object cannot run one of them. */
export function describeRules(rules: readonly Rule[]): ObjectRules {
  if (rules.length > MOST_RULES) {
    throw new SluiceError('ERR_RULE', `durableObjectStore takes at most ${MOST_RULES} rules in a limiter, got ${rules.length}`)
  }
  const tuples = rules.map(({ algorithm, parameters }): RuleTuple => [algorithm, parameters])
  for (const tuple of tuples) ruleOf(tuple)
  return { set: JSON.stringify(tuples), ends: rules.map(rulePart) }
}

/** Makes the rule of a message. Its name is not that of the sender's rule: the names of states contain that one. */
export function ruleOf([algorithm, parameters]: RuleTuple): Rule {
  const rule = ruleFromParameters(algorithm, parameters)
  if (rule.log !== undefined && rule.limit > MOST_LOG_ENTRIES) {
    const message = `a log of ${rule.limit} entries does not fit into a row of a Durable Object: limit must be at most ${MOST_LOG_ENTRIES}`
    throw new SluiceError('ERR_RULE', message, { option: 'limit', value: rule.limit })
  }
  return rule
}

/** Returns the text of a message with calls. */
export function callsMessage(calls: readonly ObjectCall[]): string {
  const sets = new Map<string, number>()
  const tuples = calls.map(({ operation, charges, hold, rules }): CallTuple => {
    let set = sets.get(rules.set)
    if (set === undefined) {
      set = sets.size
      sets.set(rules.set, set)
    }
    const names = charges.map(({ key }, i) => shortName(plainName(key) + rules.ends[i], LONGEST_NAME))
    const amounts = charges.map(({ amount }) => amount)
    if (hold !== undefined) {
      const { id, ttlMs, isCharged, most } = hold
      const least = operation === 'reserve' ? charges.map((charge) => charge.least ?? 0) : null
      return [operation, set, names, amounts, least, [id, ttlMs, isCharged, most]]
    }
    const { endsAt } = charges[0]
    return endsAt === undefined
      ? [operation, set, names, amounts]
      : [operation, set, names, amounts, charges.map((charge) => charge.endsAt ?? 0)]
  })
  return textOf({ version: VERSION, task: 'calls', sets: [...sets.keys()], calls: tuples })
}

/** Returns the text of a message without calls. */
export function taskMessage(task: Exclude<Task, 'calls'>): string {
  return textOf({ version: VERSION, task })
}

function textOf(message: Message): string {
  return JSON.stringify(message)
}

/** Returns figures as they are in a reply. */
export function writtenFigures(figures: Figures): Figures {
  return figures.map((figure) => (figure === Number.POSITIVE_INFINITY ? INFINITE : figure))
}

/** Reads the answers of a reply. Throws a SluiceError if the object refused the message, or answered something else. */
export function readAnswers(status: number, text: string): readonly ScriptedAnswer[] {
  const { answers } = readReply(status, text)
  if (!Array.isArray(answers)) throw notUnderstood(status, text)
  return answers.map((answer) => (Array.isArray(answer) ? readFigures(answer) : errorOf(answer as ErrorReply)))
}

/** Reads the count of a reply. */
export function readCount(status: number, text: string): number {
  const { count } = readReply(status, text)
  if (typeof count !== 'number') throw notUnderstood(status, text)
  return count
}

function readReply(status: number, text: string): Reply {
  const reply = replyIn(text)
  if (reply === undefined) throw notUnderstood(status, text)
  if (reply.error !== undefined) throw errorOf(reply.error)
  if (status !== 200 || reply.version !== VERSION) throw notUnderstood(status, text)
  return reply
}

function replyIn(text: string): Reply | undefined {
  try {
    const reply: unknown = JSON.parse(text)
    return typeof reply === 'object' && reply !== null ? (reply as Reply) : undefined
  } catch {
    return undefined
  }
}

function readFigures(figures: readonly unknown[]): Figures {
  return figures.map((figure) => (figure === INFINITE ? Number.POSITIVE_INFINITY : (figure as number)))
}

/** Codes that an object may answer with. An error with another code counts as unknown. */
const CODES: readonly unknown[] = ['ERR_STORE_REFUSED', 'ERR_STORE_FATAL', 'ERR_STORE_UNKNOWN']

function errorOf(reply: ErrorReply | null): SluiceError {
  const { code, message } = reply ?? { code: '', message: '' }
  const known = CODES.includes(code) ? (code as 'ERR_STORE_UNKNOWN') : 'ERR_STORE_UNKNOWN'
  return new SluiceError(known, `the Durable Object answered: ${typeof message === 'string' ? message : show(message)}`)
}

function notUnderstood(status: number, text: string): SluiceError {
  const message = `the Durable Object answered with status ${status} and no reply of Sluice, so the call may have been counted: ${show(text)}`
  return new SluiceError('ERR_STORE_UNKNOWN', message)
}
