// Sends calls as one command. They are executed in their order. A command that may have been executed is not sent again.

import { SluiceError } from '../../core/errors.ts'
import { MOVED, type ScriptedAnswer } from '../../engines/scripted.ts'
import { type ClusterParts, slotIn } from './cluster-parts.ts'
import { tagIn } from './hash-slot.ts'
import { LoadedPrograms } from './loaded-programs.ts'
import type { ClusterNodes, Connection } from './redis-client.ts'
import { type RedisCall, RedisCommand, type Sending } from './redis-command.ts'
import { askedNode, isMoved, isNoScript, needsSeparateSlots } from './redis-errors.ts'
import type { RedisKeys } from './redis-keys.ts'
import { SenderNote } from './sender-note.ts'

/** The most nodes that are remembered. Nodes of a cluster come and go, so all are forgotten when there are more. */
const MOST_NODES = 1000

/** The way of a command to its server. */
interface Channel {
  /** Name of the server, as far as it is known. */
  readonly server: string
  /** True if the command goes to the connection of a node. */
  readonly isDirect?: boolean
  /** True if the names of states are arguments, and no key is declared. */
  readonly isUndeclared?: boolean
  /** The slot of the note about executed commands. Set if the client may send a command twice. */
  readonly noteIn?: number
  /** Sends a command, routed by `key`. Undefined if its node is not connected any more. */
  send(key: string, command: readonly string[]): Promise<unknown> | undefined
}

export class RedisBatch {
  readonly #connection: Connection
  readonly #keys: RedisKeys
  readonly #now: (() => number) | undefined
  /** The parts of a cluster. Undefined on one server. */
  readonly #parts: ClusterParts | undefined
  /** The way of all commands on one server. Undefined in a cluster. */
  readonly #only: Channel | undefined
  /** Notes about executed commands, by slot. */
  readonly #notes = new Map<number, SenderNote>()
  /** Programs by node. Without a cluster there is one node. */
  readonly #programs = new Map<string, LoadedPrograms>()

  constructor(connection: Connection, keys: RedisKeys, now: (() => number) | undefined, parts: ClusterParts | undefined) {
    this.#connection = connection
    this.#keys = keys
    this.#now = now
    this.#parts = parts
    this.#only = parts === undefined ? this.#byClient('', 0) : undefined
  }

  /** False while a command would be refused. */
  isOpen(): boolean {
    if (!this.#connection.isReady()) return false
    for (const { isOpen } of this.#programs.values()) if (!isOpen) return false
    return true
  }

  /** Executes calls. In a cluster, `part` is the node or the slot of all their keys, or their only key. */
  execute(part: string, calls: readonly RedisCall[]): Promise<readonly ScriptedAnswer[]> {
    if (!this.#connection.isReady()) {
      this.#connection.reconnect?.()
      return Promise.reject(new SluiceError('ERR_STORE_REFUSED', 'the client is not connected to Redis'))
    }
    const command = new RedisCommand(calls, this.#keys)
    return this.#only === undefined ? this.#executeInCluster(part, command) : this.#run(command, this.#only)
  }

  #executeInCluster(part: string, command: RedisCommand): Promise<readonly ScriptedAnswer[]> {
    const { nodes } = this.#connection
    const slot = slotIn(part)
    if (nodes !== undefined && slot === undefined) {
      if (!nodes.isReady(part)) return Promise.resolve(command.calls.map(() => MOVED))
      const send: Channel['send'] = (key, words) => nodes.send(part, key, words)
      return this.#executeOnNode(command, { server: part, isDirect: true, isUndeclared: true, send })
    }
    const byClient = this.#byClient(this.#parts?.serverOf(part) ?? '', slot)
    return nodes?.ask === undefined ? this.#run(command, byClient) : this.#executeDirectly(nodes, command, byClient)
  }

  /** Returns the way of commands that the client routes. */
  #byClient(server: string, slot: number | undefined): Channel {
    const { resends } = this.#connection
    return {
      server,
      ...(resends && slot !== undefined && { noteIn: slot }),
      send: (key, words) => this.#connection.send(key, words),
    }
  }

  /** Executes calls on keys of any slots of a node. Calls on keys that it does not have, and others that it must not get, have moved. */
  async #executeOnNode(command: RedisCommand, channel: Channel): Promise<readonly ScriptedAnswer[]> {
    const { calls } = command
    try {
      const answers = await this.#run(command, channel)
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
  async #executeDirectly(nodes: ClusterNodes, command: RedisCommand, byClient: Channel): Promise<readonly ScriptedAnswer[]> {
    const { server } = byClient
    if (!nodes.isReady(server)) return this.#run(command, byClient)
    try {
      return await this.#run(command, { server, isDirect: true, send: (_key, words) => nodes.send(server, '', words) })
    } catch (error) {
      const asked = askedNode(error)
      if (asked !== undefined && nodes.isReady(asked)) {
        return this.#run(command, { server: asked, isDirect: true, send: (_key, words) => nodes.ask?.(asked, words) })
      }
      if (asked !== undefined || isMoved(error)) return this.#run(command, byClient)
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

  /** Sends a command by a channel, with its program's hash, or with the program if Redis does not have it. Returns the answers. */
  async #run(command: RedisCommand, channel: Channel): Promise<readonly ScriptedAnswer[]> {
    const { sha1 } = command.program
    const programs = this.#programsAt(channel.server)
    if (!programs.isOpen) throw new SluiceError('ERR_STORE_REFUSED', 'the program is being loaded into Redis')
    const noted = channel.noteIn === undefined ? undefined : this.#noteIn(channel.noteIn).begin()
    const sending: Sending = {
      nowMs: this.#now?.(),
      note: noted?.entry,
      // The client adds its prefix only to commands that it routes itself.
      keyPrefix: channel.isDirect ? this.#connection.keyPrefix : '',
      isUndeclared: channel.isUndeclared,
    }
    const isFirst = programs.enter(sha1)
    let isAnswered = false
    try {
      let reply: unknown
      try {
        reply = await send(channel, command, sending, isFirst)
      } catch (error) {
        if (!isNoScript(error)) throw error
        // The script was not loaded, so it did not run. The same calls are sent again, with the script. The client may have sent
        // them to another node before, where they did run. The note has the same entry, so that the program can skip them.
        programs.missing(sha1)
        reply = await send(channel, command, sending, true)
      }
      isAnswered = true
      return command.read(reply)
    } finally {
      programs.leave()
      noted?.end(isAnswered)
    }
  }

  /** Returns the state of the programs on a server. */
  #programsAt(server: string): LoadedPrograms {
    let programs = this.#programs.get(server)
    if (programs === undefined) {
      if (this.#programs.size === MOST_NODES) this.#programs.clear()
      programs = new LoadedPrograms()
      this.#programs.set(server, programs)
    }
    return programs
  }

  /** Returns the note about executed commands in a slot. */
  #noteIn(slot: number): SenderNote {
    let note = this.#notes.get(slot)
    if (note === undefined) {
      const tag = tagIn(slot)
      note = new SenderNote((id) => this.#keys.onceOf(tag, id))
      this.#notes.set(slot, note)
    }
    return note
  }
}

/**
 * Sends a command with its program's hash, or with the program. Throws if its node is not connected. The verb is in lower case:
 * ioredis finds the keys only in such commands.
 */
function send(channel: Channel, command: RedisCommand, sending: Sending, hasProgram: boolean): Promise<unknown> {
  const { program, names } = command
  const words = hasProgram ? ['eval', program.source] : ['evalsha', program.sha1]
  const reply = channel.send(names[0], command.arguments(sending, words))
  if (reply === undefined) throw new SluiceError('ERR_STORE_REFUSED', 'the node is not connected')
  return reply
}
