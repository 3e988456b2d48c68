// Sends calls as one command. They are executed in their order. A command that may have been executed is not sent again.

import { SluiceError } from '../../core/errors.ts'
import type { ScriptedAnswer, ScriptedCall } from '../../engines/scripted.ts'
import { tagIn } from './hash-slot.ts'
import { LoadedProgram } from './loaded-program.ts'
import { PROGRAM, PROGRAM_SHA1 } from './program.ts'
import type { Connection } from './redis-client.ts'
import { isNoScript } from './redis-errors.ts'
import type { RedisKeys } from './redis-keys.ts'
import { readAnswers } from './redis-reply.ts'

/** The rules of a call. */
export interface RedisRules {
  /** The rules as JSON, for the program. */
  readonly json: string
  /** The text after the key in the name of a state, for each rule. */
  readonly ends: readonly string[]
}

type RedisCall = ScriptedCall<RedisRules>

/** Consecutive calls that differ only in their keys. */
interface Run {
  readonly operation: string
  readonly rules: string
  readonly amount: number | string
  count: number
}

/** The most nodes that are remembered. Nodes of a cluster come and go, so all are forgotten when there are more. */
const MOST_NODES = 1000

export class RedisBatch {
  readonly #connection: Connection
  readonly #keys: RedisKeys
  readonly #now: (() => number) | undefined
  /** Id of this sender, so that the program can detect resent commands. */
  #sender: string | undefined
  /** Number of commands sent, by part. */
  readonly #sent = new Map<string, number>()
  /** Programs by node. Without a cluster there is one. */
  readonly #programs = new Map<string, LoadedProgram>()

  constructor(connection: Connection, keys: RedisKeys, now: (() => number) | undefined) {
    this.#connection = connection
    this.#keys = keys
    this.#now = now
  }

  /** False while a command would be refused. */
  isOpen(): boolean {
    if (!this.#connection.isReady()) return false
    for (const { isOpen } of this.#programs.values()) if (!isOpen) return false
    return true
  }

  /** Executes calls. In a cluster, `part` is the slot of all their keys. */
  async execute(part: string, calls: readonly RedisCall[]): Promise<readonly ScriptedAnswer[]> {
    if (!this.#connection.isReady()) {
      this.#connection.reconnect?.()
      throw new SluiceError('ERR_STORE_REFUSED', 'the client is not connected to Redis')
    }
    const program = this.#programAt(part)
    if (!program.isOpen) throw new SluiceError('ERR_STORE_REFUSED', 'the program is being loaded into Redis')
    const routing = this.#keys.startOf(calls[0].charges[0].key) + calls[0].rules.ends[0]
    const nth = this.#next(part)
    const how = program.enter() ? ['EVAL', PROGRAM] : ['EVALSHA', PROGRAM_SHA1]
    try {
      return readAnswers(await this.#connection.send(routing, [...how, ...this.#request(part, calls, nth)]), calls)
    } catch (error) {
      if (!isNoScript(error)) throw error
      // The script was not loaded, so it did not run. The same calls are sent again, with the script. The client may have sent
      // them to another node before, where they did run. The request has the earlier number, so that the program can skip them.
      program.missing()
      const again = this.#request(part, calls, this.#next(part), nth)
      return readAnswers(await this.#connection.send(routing, ['EVAL', PROGRAM, ...again]), calls)
    } finally {
      program.leave()
    }
  }

  /** Returns the state of the program on the server of a part. */
  #programAt(part: string): LoadedProgram {
    const node = this.#connection.nodeOf?.(Number(part)) ?? ''
    let program = this.#programs.get(node)
    if (program === undefined) {
      if (this.#programs.size === MOST_NODES) this.#programs.clear()
      program = new LoadedProgram()
      this.#programs.set(node, program)
    }
    return program
  }

  /** Returns the number of the next command to a part. */
  #next(part: string): number {
    const nth = (this.#sent.get(part) ?? 0) + 1
    this.#sent.set(part, nth)
    return nth
  }

  #request(part: string, calls: readonly RedisCall[], nth: number, sentAs?: number): string[] {
    const names: string[] = []
    const sets = new Map<string, number>()
    const runs: Run[] = []
    let last: Run | undefined
    for (const call of calls) {
      this.#addNames(call, names)
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
    const now = this.#now === undefined ? '' : `,"now":${this.#now()}`
    let once = ''
    if (this.#connection.resends) {
      // Made here and not with the store, because Cloudflare Workers have no random numbers before the first request.
      this.#sender ??= btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(9))))
      names.push(this.#keys.onceOf(tagIn(Number(part)), this.#sender))
      once = sentAs === undefined ? `,"nth":${nth}` : `,"nth":${nth},"sentAs":${sentAs}`
    }
    return [String(names.length), ...names, `{"sets":[${[...sets.keys()].join()}],"runs":[${runTexts.join()}]${now}${once}}`]
  }

  /** Adds the names of a call's states. */
  #addNames({ charges, rules }: RedisCall, names: string[]): void {
    let start = ''
    for (let i = 0; i < charges.length; i++) {
      const { key } = charges[i]
      if (i === 0 || key !== charges[i - 1].key) start = this.#keys.startOf(key)
      names.push(start + rules.ends[i])
    }
  }
}

/** Returns the amount of all charges; a list if they differ, followed by the ends of the states if there are any. */
function amountOf({ charges }: RedisCall): number | string {
  const { amount, endsAt } = charges[0]
  if (endsAt !== undefined) return `[${[...charges.map((charge) => charge.amount), ...charges.map((charge) => charge.endsAt)]}]`
  for (let i = 1; i < charges.length; i++) if (charges[i].amount !== amount) return `[${charges.map((charge) => charge.amount)}]`
  return amount
}
