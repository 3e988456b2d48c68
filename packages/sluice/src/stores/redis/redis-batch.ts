// Calls that are made in the same turn of the event loop, gathered into one command for each slot.
// Invariants: a call waits no longer than the turn it was made in, calls on one key keep their order, and a command that may have
// been executed is never sent twice.

import { randomBytes } from 'node:crypto'
import { SluiceError } from '../../core/errors.ts'
import { HandOut } from './hand-out.ts'
import { slotOf, tagIn } from './hash-slot.ts'
import { LoadedProgram } from './loaded-program.ts'
import { PROGRAM, PROGRAM_SHA1 } from './program.ts'
import type { Connection } from './redis-client.ts'
import { callError, isNoScript, storeError } from './redis-errors.ts'
import type { RedisKeys } from './redis-keys.ts'
import { Numbers } from './redis-numbers.ts'

export interface Call {
  readonly op: 'hit' | 'peek' | 'inc' | 'get' | 'set' | 'expiresAt' | 'refund' | 'reset'
  /** The rules as the program is told them, in JSON. */
  readonly set: string
  readonly amount: number
  /** The names of the states, one for each rule, all of one slot: what all begin with, and what each ends with. */
  readonly start: string
  readonly ends: readonly string[]
  /** Takes what the program answers to this call from its reply. */
  readonly read: (numbers: Numbers) => unknown
  readonly resolve: (answer: never) => void
  readonly reject: (reason: unknown) => void
}

/** Calls in a row that are alike but for their keys. */
interface Run extends Pick<Call, 'op' | 'set' | 'amount'> {
  count: number
}

/** Nodes of a cluster come and go: beyond so many, what is known of them is forgotten. */
const MOST_NODES = 1000

/** The slot of all calls where slots do not matter. */
const NO_CLUSTER = 0

export class RedisBatch {
  readonly #connection: Connection
  readonly #keys: RedisKeys
  readonly #most: number
  readonly #now: (() => number) | undefined
  /** Who sends, to a program that is to notice what it has been sent before; and how many commands it has sent to each slot. */
  #sender: string | undefined
  readonly #sent = new Map<number, number>()
  readonly #handOut = new HandOut()
  /** By node; all under one name where slots do not matter. */
  readonly #programs = new Map<string, LoadedProgram>()
  #waiting: Call[] = []

  constructor(connection: Connection, keys: RedisKeys, most: number, now: (() => number) | undefined) {
    this.#connection = connection
    this.#keys = keys
    this.#most = most
    this.#now = now
  }

  add(call: Call): void {
    if (this.#waiting.length === 0) setImmediate(() => this.#sendWaiting())
    this.#waiting.push(call)
    if (this.#waiting.length >= this.#most && this.#refusesNothing()) this.#sendWaiting()
  }

  /** All calls of a turn are refused or none: were the first refused and the last sent, the last would come before the first. */
  #refusesNothing(): boolean {
    if (!this.#connection.isReady()) return false
    for (const { isOpen } of this.#programs.values()) if (!isOpen) return false
    return true
  }

  #sendWaiting(): void {
    const calls = this.#waiting
    if (calls.length === 0) return
    this.#waiting = []
    if (!this.#connection.isCluster) {
      this.#sendInParts(NO_CLUSTER, calls)
      return
    }
    const bySlot = new Map<number, Call[]>()
    for (const call of calls) {
      const slot = slotOf(call.start + call.ends[0])
      const others = bySlot.get(slot)
      if (others === undefined) bySlot.set(slot, [call])
      else others.push(call)
    }
    for (const [slot, inOneSlot] of bySlot) this.#sendInParts(slot, inOneSlot)
  }

  #sendInParts(slot: number, calls: readonly Call[]): void {
    for (let first = 0; first < calls.length; first += this.#most) this.#send(slot, calls.slice(first, first + this.#most))
  }

  async #send(slot: number, calls: readonly Call[]): Promise<void> {
    try {
      if (!this.#connection.isReady()) throw new SluiceError('ERR_STORE_REFUSED', 'the client is not connected to Redis')
      const program = this.#programAt(slot)
      if (!program.isOpen) throw new SluiceError('ERR_STORE_REFUSED', 'the program is being loaded into Redis')
      const reply = await this.#execute(slot, calls, program)
      this.#handOut.add(calls.length, () => deliver(calls, reply))
    } catch (error) {
      rejectAll(calls, error)
    }
  }

  async #execute(slot: number, calls: readonly Call[], program: LoadedProgram): Promise<unknown> {
    const routing = calls[0].start + calls[0].ends[0]
    const nth = this.#next(slot)
    const how = program.enter() ? ['EVAL', PROGRAM] : ['EVALSHA', PROGRAM_SHA1]
    try {
      return await this.#connection.send(routing, [...how, ...this.#request(slot, calls, nth)])
    } catch (error) {
      if (!isNoScript(error)) throw error
      // The script was not there, so it did not run: the same calls once more, with it. Unless the client had sent them
      // to another node before, where they did run: the program is told as what.
      program.missing()
      const again = this.#request(slot, calls, this.#next(slot), nth)
      return await this.#connection.send(routing, ['EVAL', PROGRAM, ...again])
    } finally {
      program.leave()
    }
  }

  /** The state of the program on the server that holds a slot. */
  #programAt(slot: number): LoadedProgram {
    const node = this.#connection.nodeOf?.(slot) ?? ''
    let program = this.#programs.get(node)
    if (program === undefined) {
      if (this.#programs.size === MOST_NODES) this.#programs.clear()
      program = new LoadedProgram()
      this.#programs.set(node, program)
    }
    return program
  }

  /** Which of the sender's commands to a slot the next one is. */
  #next(slot: number): number {
    const nth = (this.#sent.get(slot) ?? 0) + 1
    this.#sent.set(slot, nth)
    return nth
  }

  #request(slot: number, calls: readonly Call[], nth: number, sentAs?: number): string[] {
    const keys: string[] = []
    const sets = new Map<string, number>()
    const runs: Run[] = []
    let last: Run | undefined
    for (const { op, set, amount, start, ends } of calls) {
      for (const end of ends) keys.push(start + end)
      if (last !== undefined && op === last.op && set === last.set && amount === last.amount) {
        last.count += 1
      } else {
        if (!sets.has(set)) sets.set(set, sets.size + 1)
        last = { op, set, amount, count: 1 }
        runs.push(last)
      }
    }
    const told = runs.map(({ op, set, amount, count }) => `"${op}",${sets.get(set)},${amount},${count}`)
    const now = this.#now === undefined ? '' : `,"now":${this.#now()}`
    let once = ''
    if (this.#connection.resends) {
      // Not when the store is made: Cloudflare Workers have no random numbers before the first request.
      this.#sender ??= randomBytes(9).toString('base64url')
      keys.push(this.#keys.onceOf(tagIn(slot), this.#sender))
      once = sentAs === undefined ? `,"nth":${nth}` : `,"nth":${nth},"sentAs":${sentAs}`
    }
    return [String(keys.length), ...keys, `{"sets":[${[...sets.keys()].join()}],"runs":[${told.join()}]${now}${once}}`]
  }
}

/** Hands each caller its own numbers. */
function deliver(calls: readonly Call[], reply: unknown): void {
  try {
    const numbers = new Numbers(reply)
    for (const { read, resolve, reject } of calls) {
      const problem = numbers.problem()
      if (problem === undefined) resolve(read(numbers) as never)
      else reject(callError(problem))
    }
  } catch (error) {
    rejectAll(calls, error)
  }
}

/** Those who have their answer already keep it. */
function rejectAll(calls: readonly Call[], error: unknown): void {
  const reason = storeError(error)
  for (const call of calls) call.reject(reason)
}
