// Several processes that share a Postgres, and nothing else.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import type { Decision } from '../../src/index.ts'
import type { PostgresMode } from '../../src/stores/postgres/postgres-store.ts'
import { beforeTests, type Later } from '../redis/real-redis.ts'

/** Calls to a limiter over these rules, all made at once. */
export interface Task {
  readonly rules: readonly RuleSpec[]
  readonly table: string
  /** Default: `transaction`. */
  readonly mode?: PostgresMode | undefined
  readonly calls: readonly (readonly [method: string, ...args: unknown[]])[]
}

/** The results of a process: numbers and decisions, and the time by its clock. */
interface Reply {
  readonly answers: readonly (number & Decision)[]
  readonly nowMs: number
}

const program = fileURLToPath(new URL('./limiter-process.mjs', import.meta.url))

export class LimiterProcess {
  readonly #child: ChildProcess
  #asked = 0

  constructor(url: string, skewMs: number) {
    this.#child = fork(program, { env: { ...process.env, POSTGRES_URL: url, SKEW_MS: String(skewMs) } })
  }

  async ready(): Promise<this> {
    await once(this.#child, 'message')
    return this
  }

  ask(task: Task): Promise<Reply> {
    const id = this.#asked++
    return new Promise((resolve, reject) => {
      const listen = (reply: Reply & { id: number; error?: string }) => {
        if (reply.id !== id) return
        this.#child.off('message', listen)
        if (reply.error === undefined) resolve(reply)
        else reject(new Error(reply.error))
      }
      this.#child.on('message', listen)
      this.#child.send({ id, task })
    })
  }

  async end(): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#child.disconnect()
    await ended
  }
}

/** Starts a process for each skew, for the tests after it. */
export function limiterProcesses(url: () => string, skewsMs: readonly number[]): Later<readonly LimiterProcess[]> {
  return beforeTests(
    () => Promise.all(skewsMs.map((skewMs) => new LimiterProcess(url(), skewMs).ready())),
    (processes) => Promise.all(processes.map((each) => each.end())),
  )
}
