// Sends calls as one command. They are executed in their order, and never sent twice if the command may have been executed.

import { SluiceError } from '../../core/errors.ts'
import type { ScriptedAnswer } from '../../engines/scripted.ts'
import { tagIn } from './hash-slot.ts'
import { LoadedPrograms } from './loaded-programs.ts'
import type { Connection } from './redis-client.ts'
import { type RedisCall, RedisCommand } from './redis-command.ts'
import { isNoScript } from './redis-errors.ts'
import type { RedisKeys } from './redis-keys.ts'
import { SenderNote } from './sender-note.ts'

/** The most nodes that are remembered. Nodes of a cluster come and go, so all are forgotten when there are more. */
const MOST_NODES = 1000

export class RedisBatch {
  readonly #connection: Connection
  readonly #keys: RedisKeys
  readonly #now: (() => number) | undefined
  /** Notes about executed commands, by part. */
  readonly #notes = new Map<string, SenderNote>()
  /** Programs by node. Without a cluster there is one node. */
  readonly #programs = new Map<string, LoadedPrograms>()

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
    if (!this.#connection.isReady()) throw new SluiceError('ERR_STORE_REFUSED', 'the client is not connected to Redis')
    const programs = this.#programsAt(part)
    if (!programs.isOpen) throw new SluiceError('ERR_STORE_REFUSED', 'the program is being loaded into Redis')
    const command = new RedisCommand(calls, this.#keys)
    const noted = this.#connection.resends ? this.#noteAt(part).begin() : undefined
    let isAnswered = false
    try {
      const reply = await this.#send(command, programs, command.arguments({ nowMs: this.#now?.(), note: noted?.entry }))
      isAnswered = true
      return command.read(reply)
    } finally {
      noted?.end(isAnswered)
    }
  }

  async #send({ program, names }: RedisCommand, programs: LoadedPrograms, args: readonly string[]): Promise<unknown> {
    const how = programs.enter(program.sha1) ? ['EVAL', program.source] : ['EVALSHA', program.sha1]
    try {
      return await this.#connection.send(names[0], [...how, ...args])
    } catch (error) {
      if (!isNoScript(error)) throw error
      // The script was not loaded, so it did not run. The same calls are sent again, with the script. The client may have sent
      // them to another node before, where they did run. The note has the same entry, so that the program can skip them.
      programs.missing()
      return await this.#connection.send(names[0], ['EVAL', program.source, ...args])
    } finally {
      programs.leave()
    }
  }

  /** Returns the state of the programs on the server of a part. */
  #programsAt(part: string): LoadedPrograms {
    const node = this.#connection.nodeOf?.(Number(part)) ?? ''
    let programs = this.#programs.get(node)
    if (programs === undefined) {
      if (this.#programs.size === MOST_NODES) this.#programs.clear()
      programs = new LoadedPrograms()
      this.#programs.set(node, programs)
    }
    return programs
  }

  #noteAt(part: string): SenderNote {
    let note = this.#notes.get(part)
    if (note === undefined) {
      const tag = tagIn(Number(part))
      note = new SenderNote((id) => this.#keys.onceOf(tag, id))
      this.#notes.set(part, note)
    }
    return note
  }
}
