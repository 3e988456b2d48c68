// Sends calls as one command. They are executed in their order, and never sent twice if the command may have been executed.

import { randomBytes } from 'node:crypto'
import { SluiceError } from '../../core/errors.ts'
import { MOVED, type ScriptedAnswer, type ScriptedCall } from '../../engines/scripted.ts'
import { type ClusterParts, isNode } from './cluster-parts.ts'
import { tagIn } from './hash-slot.ts'
import { LoadedProgram } from './loaded-program.ts'
import { PROGRAM, PROGRAM_SHA1 } from './program.ts'
import type { ClusterNodes, Connection } from './redis-client.ts'
import { askedNode, isMoved, isNoScript, needsSeparateSlots } from './redis-errors.ts'
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

/** The way of a command to its server. */
interface Route {
  /** Name of the server, as far as it is known. */
  readonly server: string
  /** True if the command goes to the connection of a node. */
  readonly isDirect?: boolean
  /** True if the names of states are arguments, and no key is declared. */
  readonly isByNode?: boolean
  /** The slot of the note about executed commands. Set if the client may send a command twice. */
  readonly noteIn?: number
  /** Sends a command. Undefined if its node is not connected any more. */
  send(command: readonly string[]): Promise<unknown> | undefined
}

export class RedisBatch {
  readonly #connection: Connection
  readonly #keys: RedisKeys
  readonly #now: (() => number) | undefined
  /** The parts of a cluster. Undefined on one server. */
  readonly #parts: ClusterParts | undefined
  /** Id of this sender, so that the program can detect resent commands. */
  #sender: string | undefined
  /** Number of commands sent, by the slot of the note. */
  readonly #sent = new Map<number, number>()
  /** Programs by node. Without a cluster there is one. */
  readonly #programs = new Map<string, LoadedProgram>()

  constructor(connection: Connection, keys: RedisKeys, now: (() => number) | undefined, parts: ClusterParts | undefined) {
    this.#connection = connection
    this.#keys = keys
    this.#now = now
    this.#parts = parts
  }

  /** False while a command would be refused. */
  isOpen(): boolean {
    if (!this.#connection.isReady()) return false
    for (const { isOpen } of this.#programs.values()) if (!isOpen) return false
    return true
  }

  /** Executes calls. In a cluster, `part` is the node or the slot of all their keys. */
  async execute(part: string, calls: readonly RedisCall[]): Promise<readonly ScriptedAnswer[]> {
    if (!this.#connection.isReady()) throw new SluiceError('ERR_STORE_REFUSED', 'the client is not connected to Redis')
    const routing = this.#keys.startOf(calls[0].charges[0].key) + calls[0].rules.ends[0]
    const { nodes, resends } = this.#connection
    if (nodes !== undefined && isNode(part)) {
      if (!nodes.isReady(part)) return calls.map(() => MOVED)
      const send: Route['send'] = (command) => nodes.send(part, routing, command)
      return this.#executeOnNode(calls, { server: part, isDirect: true, isByNode: true, send })
    }
    const server = this.#parts?.serverOf(part) ?? ''
    const byClient: Route = {
      server,
      ...(resends && { noteIn: Number(part) }),
      send: (command) => this.#connection.send(routing, command),
    }
    return nodes?.ask === undefined ? this.#run(calls, byClient) : this.#executeDirectly(nodes, calls, byClient)
  }

  /** Executes calls on keys of any slots of a node. Calls on keys that it does not have, and others that it must not get, have moved. */
  async #executeOnNode(calls: readonly RedisCall[], route: Route): Promise<ScriptedAnswer[]> {
    try {
      const answers = await this.#run(calls, route)
      return answers.map((answer, i) => this.#separated(answer, calls[i]))
    } catch (error) {
      if (this.#separates(error)) return calls.map(() => MOVED)
      throw error
    }
  }

  /**
   * Executes calls on keys of one slot by the connection to its node, which resends nothing, so that no note is needed. If the slot
   * has moved, the client finds it, and learns.
   */
  async #executeDirectly(nodes: ClusterNodes, calls: readonly RedisCall[], byClient: Route): Promise<ScriptedAnswer[]> {
    const { server } = byClient
    if (!nodes.isReady(server)) return this.#run(calls, byClient)
    try {
      return await this.#run(calls, { server, isDirect: true, send: (command) => nodes.send(server, '', command) })
    } catch (error) {
      const asked = askedNode(error)
      if (asked !== undefined && nodes.isReady(asked)) {
        return this.#run(calls, { server: asked, isDirect: true, send: (command) => nodes.ask?.(asked, command) })
      }
      if (asked !== undefined || isMoved(error)) return this.#run(calls, byClient)
      throw error
    }
  }

  /** Takes note of an answer of a node. Returns `MOVED` for a call that the node must get slot by slot. */
  #separated(answer: ScriptedAnswer, { charges }: RedisCall): ScriptedAnswer {
    if (answer === MOVED) for (const { key } of charges) this.#parts?.noteMoved(key)
    return answer instanceof SluiceError && this.#separates(answer.cause) ? MOVED : answer
  }

  /** True if an error means that each slot needs a command of its own, as all of them get from now on. */
  #separates(error: unknown): boolean {
    return needsSeparateSlots(error) && (this.#parts?.separateSlots() ?? false)
  }

  /** Sends calls with the program's hash, or with the program if Redis does not have it. */
  async #run(calls: readonly RedisCall[], route: Route): Promise<ScriptedAnswer[]> {
    const program = this.#programAt(route.server)
    if (!program.isOpen) throw new SluiceError('ERR_STORE_REFUSED', 'the program is being loaded into Redis')
    const answers = async (command: readonly string[]): Promise<ScriptedAnswer[]> => {
      const reply = route.send(command)
      if (reply === undefined) throw new SluiceError('ERR_STORE_REFUSED', 'the node is not connected')
      return readAnswers(await reply, calls)
    }
    const nth = this.#next(route)
    const how = program.enter() ? ['EVAL', PROGRAM] : ['EVALSHA', PROGRAM_SHA1]
    try {
      return await answers([...how, ...this.#request(calls, route, nth)])
    } catch (error) {
      if (!isNoScript(error)) throw error
      // The script was not loaded, so it did not run. The same calls are sent again, with the script. The client may have sent
      // them to another node before, where they did run. The request has the earlier number, so that the program can skip them.
      program.missing()
      return await answers(['EVAL', PROGRAM, ...this.#request(calls, route, this.#next(route), nth)])
    } finally {
      program.leave()
    }
  }

  /** Returns the state of the program on a server. */
  #programAt(server: string): LoadedProgram {
    let program = this.#programs.get(server)
    if (program === undefined) {
      if (this.#programs.size === MOST_NODES) this.#programs.clear()
      program = new LoadedProgram()
      this.#programs.set(server, program)
    }
    return program
  }

  /** Returns the number of the next command with a note in the same slot. */
  #next({ noteIn = 0 }: Route): number {
    const nth = (this.#sent.get(noteIn) ?? 0) + 1
    this.#sent.set(noteIn, nth)
    return nth
  }

  /** Returns the arguments of a command after the program. `sentAs` is the number under which the same calls were sent before. */
  #request(calls: readonly RedisCall[], { isByNode, isDirect, noteIn }: Route, nth: number, sentAs?: number): string[] {
    // The client adds its prefix only to commands that it routes itself.
    const prefix = isDirect ? this.#connection.keyPrefix : ''
    if (isByNode) {
      const request = ['0', this.#header(calls, '')]
      for (const call of calls) this.#addNames(call, request, prefix)
      return request
    }
    const names: string[] = []
    for (const call of calls) this.#addNames(call, names, prefix)
    let once = ''
    if (noteIn !== undefined) {
      // Made here and not with the store, because Cloudflare Workers have no random numbers before the first request.
      this.#sender ??= randomBytes(9).toString('base64url')
      names.push(this.#keys.onceOf(tagIn(noteIn), this.#sender))
      once = sentAs === undefined ? `,"nth":${nth}` : `,"nth":${nth},"sentAs":${sentAs}`
    }
    return [String(names.length), ...names, this.#header(calls, once)]
  }

  #header(calls: readonly RedisCall[], once: string): string {
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
    const now = this.#now === undefined ? '' : `,"now":${this.#now()}`
    return `{"sets":[${[...sets.keys()].join()}],"runs":[${runTexts.join()}]${now}${once}}`
  }

  /** Adds the names of a call's states. */
  #addNames({ charges, rules }: RedisCall, names: string[], keyPrefix: string): void {
    let start = ''
    for (let i = 0; i < charges.length; i++) {
      const { key } = charges[i]
      if (i === 0 || key !== charges[i - 1].key) start = this.#keys.startOf(key)
      names.push(keyPrefix + start + rules.ends[i])
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
