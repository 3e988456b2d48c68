// A child process that does the tasks that a test sends.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import type { Decision } from '../../src/index.ts'
import { beforeTests, type Later } from '../redis/real-redis.ts'

/** A call of a method of a limiter. */
export type MethodCall = readonly [method: string, ...args: unknown[]]

/** Calls to a limiter over these rules. */
export interface CallsTask {
  readonly rules: readonly RuleSpec[]
  readonly calls: readonly MethodCall[]
}

/** The results of calls: numbers and decisions, and the time by the clock of the process. */
export interface Answers {
  readonly answers: readonly (number & Decision)[]
  readonly nowMs: number
}

export class AskedProcess<Task, Reply = Answers> {
  readonly #child: ChildProcess
  #asked = 0

  /** `program` is the address of a module that calls `answerParent`. */
  constructor(program: URL, env: Readonly<Record<string, string>> = {}) {
    this.#child = fork(fileURLToPath(program), { env: { ...process.env, ...env } })
  }

  async ready(): Promise<this> {
    await once(this.#child, 'message')
    return this
  }

  ask(task: Task): Promise<Reply> {
    const id = this.#asked++
    return new Promise((resolve, reject) => {
      const listen = (answer: { readonly id: number; readonly reply: Reply; readonly error?: string }) => {
        if (answer.id !== id) return
        this.#child.off('message', listen)
        if (answer.error === undefined) resolve(answer.reply)
        else reject(new Error(answer.error))
      }
      this.#child.on('message', listen)
      this.#child.send({ id, task })
    })
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async end(): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#child.disconnect()
    await ended
  }
}

/** Starts processes for the tests after it, and ends them after those. */
export function processesBeforeTests<T, R>(start: () => readonly AskedProcess<T, R>[]): Later<readonly AskedProcess<T, R>[]> {
  return beforeTests(
    () => Promise.all(start().map((each) => each.ready())),
    (processes) => Promise.all(processes.map((each) => each.end())),
  )
}
