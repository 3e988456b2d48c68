// Reads messages in the object. Everything is checked, because any Worker with a binding can send one.
// Invariant: a message that is refused has changed nothing.

import type { Charge, HoldTerms, Operation } from '../../core/call.ts'
import { SluiceError, show } from '../../core/errors.ts'
import type { Rule } from '../../core/rule.ts'
import { isWhole, MAX_DURATION_MS, MAX_TIME_MS } from '../../core/whole-numbers.ts'
import type { NamedCall } from '../../engines/loaded-states.ts'
import { LONGEST_NAME } from '../../engines/state-names.ts'
import {
  type CallTuple,
  type Message,
  MOST_BYTES,
  MOST_CALLS,
  MOST_HOLDS,
  MOST_RULES,
  type RuleTuple,
  ruleOf,
  type Task,
  VERSION,
} from './message.ts'

/** Each operation with the smallest amount of its charges. */
const LEAST_AMOUNT: Readonly<Record<Operation, -1 | 0 | 1>> = {
  hit: 1,
  timedHit: 1,
  peek: 0,
  inc: 1,
  set: 0,
  refund: 0,
  reset: 0,
  get: 0,
  expiresAt: 0,
  reserve: 1,
  settle: -1,
  cancel: -1,
  extend: -1,
}

/** Operations that need the terms of a hold. */
const ABOUT_HOLDS: readonly string[] = ['reserve', 'settle', 'cancel', 'extend'] satisfies Operation[]

/** Operations with a list of numbers besides the amounts. A refund may have one, and a reserve has one. */
const WITH_ENDS: readonly string[] = ['refund', 'reserve'] satisfies Operation[]

/** Operations that read or change the first charge only. */
const OF_ONE_CHARGE: readonly string[] = ['inc', 'set', 'get', 'expiresAt'] satisfies Operation[]

const TASKS: readonly unknown[] = ['calls', 'clean', 'size'] satisfies Task[]

const NAME = /^[!-~]+$/

/** An object keeps the rules of so many sets. Beyond, it forgets all of them, and makes them again. */
const MOST_SETS = 256

/** More than the text of the most rules with the largest numbers. So the kept sets take 8 MB at most. */
const LONGEST_SET = 32_768

/** A message after the check. */
export interface CheckedMessage {
  readonly task: Task
  readonly calls: readonly NamedCall[]
}

export class MessageReader {
  readonly #sets = new Map<string, readonly Rule[]>()

  /** Reads the body of a request. */
  async read(request: Request): Promise<CheckedMessage> {
    if (request.method !== 'POST') throw wrong(`a ${request.method} request instead of a message`)
    return this.check(parsed(await bodyOf(request)))
  }

  /** Throws ERR_STORE_FATAL unless the value is a message. Throws ERR_STORE_REFUSED if its version is another one. */
  check(value: unknown): CheckedMessage {
    const { version, task, sets = [], calls = [] } = Object(value) as Partial<Message>
    if (version !== VERSION) throw otherVersion(version)
    if (!TASKS.includes(task)) throw wrong(`the task ${show(task)}`)
    if (!Array.isArray(sets) || sets.length > MOST_CALLS) throw wrong('no list of sets, or a longer one')
    if (!Array.isArray(calls) || calls.length > MOST_CALLS) throw wrong(`no list of at most ${MOST_CALLS} calls`)
    const rules = sets.map((set) => this.#rulesOf(set))
    return { task: task as Task, calls: calls.map((call) => readCall(call, rules)) }
  }

  #rulesOf(set: unknown): readonly Rule[] {
    if (typeof set !== 'string' || set.length > LONGEST_SET)
      throw wrong(`a set that is not a text of up to ${LONGEST_SET} characters`)
    const known = this.#sets.get(set)
    if (known !== undefined) return known
    const rules = readRules(parsed(set))
    if (this.#sets.size === MOST_SETS) this.#sets.clear()
    this.#sets.set(set, rules)
    return rules
  }
}

function readRules(tuples: unknown): readonly Rule[] {
  if (!Array.isArray(tuples) || tuples.length === 0 || tuples.length > MOST_RULES)
    throw wrong(`no list of 1 to ${MOST_RULES} rules`)
  return tuples.map((tuple: unknown) => {
    if (!Array.isArray(tuple)) throw wrong('a rule that is not a list')
    try {
      return ruleOf(tuple as unknown as RuleTuple)
    } catch (error) {
      throw wrong(`a rule that this object cannot run: ${(error as Error).message}`)
    }
  })
}

function readCall(tuple: unknown, sets: readonly (readonly Rule[])[]): NamedCall {
  if (!Array.isArray(tuple)) throw wrong('a call that is not a list')
  const [operation, set, names, amounts, listed, terms] = tuple as unknown as CallTuple
  const ends = listed ?? undefined
  if (typeof operation !== 'string' || !Object.hasOwn(LEAST_AMOUNT, operation)) throw wrong(`the operation ${show(operation)}`)
  if (!isWhole(set, 0, sets.length - 1)) throw wrong(`the set ${show(set)}`)
  const rules = sets[set]
  const count = rules.length
  if (!isListOf(names, count) || !isListOf(amounts, count)) throw wrong(`a call without ${count} names and ${count} amounts`)
  if (ends === undefined ? operation === 'reserve' : !WITH_ENDS.includes(operation) || !isListOf(ends, count))
    throw wrong('a call with ends that do not belong to it')
  const hold = readHold(operation, terms)
  if (count > 1 && OF_ONE_CHARGE.includes(operation)) throw wrong(`a call ${operation} with several charges`)
  if (!names.every(isName) || new Set(names).size < count) throw wrong('a name that is no name of a state, or is there twice')
  const charges = names.map((_, rule): Charge => {
    const amount = amounts[rule]
    const most = operation === 'set' ? rules[rule].mostUsed : undefined
    if (!isWhole(amount, LEAST_AMOUNT[operation as Operation], most)) throw wrong(`the amount ${show(amount)}`)
    if (ends === undefined) return { rule, key: '', amount }
    if (operation === 'reserve') return { rule, key: '', amount, ...leastOf(ends[rule], amount) }
    if (!isWhole(ends[rule], 0, 2 * MAX_TIME_MS)) throw wrong(`the end ${show(ends[rule])}`)
    return { rule, key: '', amount, endsAt: ends[rule] }
  })
  return { call: { operation: operation as Operation, charges, hold }, rules, names }
}

/** Reads the least units that a charge holds; 0 stands for a charge that is spent. */
function leastOf(least: unknown, amount: number): { readonly least?: number } {
  if (least === 0) return {}
  if (!isWhole(least, 1, amount)) throw wrong(`the least ${show(least)}`)
  return { least }
}

function readHold(operation: string, terms: unknown): HoldTerms | undefined {
  if (!ABOUT_HOLDS.includes(operation)) {
    if (terms === undefined) return undefined
    throw wrong('a call with a hold that does not belong to it')
  }
  const [id, ttlMs, isCharged, most]: readonly unknown[] = Array.isArray(terms) ? terms : []
  const areTerms = isWhole(id, 0) && isWhole(ttlMs, 0, MAX_DURATION_MS) && typeof isCharged === 'boolean'
  if (!areTerms || !isWhole(most, 0, MOST_HOLDS)) throw wrong(`the hold ${show(terms)}`)
  return { id, ttlMs, isCharged, most }
}

function isListOf(list: unknown, length: number): list is readonly unknown[] {
  return Array.isArray(list) && list.length === length
}

function isName(name: unknown): boolean {
  return typeof name === 'string' && name.length <= LONGEST_NAME && NAME.test(name)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw wrong('a text that is not JSON')
  }
}

/** Reads a body up to its bound. */
async function bodyOf(request: Request): Promise<string> {
  const decoder = new TextDecoder()
  const reader = request.body?.getReader()
  let text = ''
  for (let bytes = 0; reader !== undefined; ) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.byteLength
    if (bytes > MOST_BYTES) {
      reader.cancel().catch(() => {})
      throw wrong(`more than ${MOST_BYTES} bytes`)
    }
    text += decoder.decode(value, { stream: true })
  }
  return text + decoder.decode()
}

function wrong(got: string): SluiceError {
  return new SluiceError('ERR_STORE_FATAL', `this is no message of durableObjectStore: got ${got}`)
}

function otherVersion(version: unknown): SluiceError {
  const message =
    `the Worker sends messages of version ${show(version)}, and the object reads version ${VERSION}: ` +
    'nothing was counted; deploy both with the same version of sluice'
  return new SluiceError('ERR_STORE_REFUSED', message)
}
