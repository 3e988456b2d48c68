// Several processes that share memcached servers, and nothing else.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import { beforeTests, type Later } from '../redis/real-redis.ts'

/** Hits on a limiter over these rules. */
export interface Task {
  readonly rules: readonly RuleSpec[]
  readonly prefix: string
  readonly hits: number
  /** The most hits that are under way. Default: all of them. */
  readonly underWay?: number
  /** Subjects of the hits, in turn. Default: `ada`. */
  readonly subjects?: readonly (string | Readonly<Record<string, string>>)[]
  readonly timeoutMs?: number
  readonly attempts?: number
}

/** Number of hits by outcome: `allowed`, `denied`, or the code of an error. */
export type Outcomes = Readonly<Record<string, number>>

interface Reply {
  readonly outcomes: Outcomes
  readonly tookMs: number
}

const program = fileURLToPath(new URL('./limiter-process.mjs', import.meta.url))

export class LimiterProcess {
  readonly #child: ChildProcess
  #asked = 0

  constructor(servers: readonly string[], skewMs: number) {
    this.#child = fork(program, { env: { ...process.env, MEMCACHED_SERVERS: servers.join(), SKEW_MS: String(skewMs) } })
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
export function limiterProcesses(servers: () => readonly string[], skewsMs: readonly number[]): Later<readonly LimiterProcess[]> {
  return beforeTests(
    () => Promise.all(skewsMs.map((skewMs) => new LimiterProcess(servers(), skewMs).ready())),
    (processes) => Promise.all(processes.map((each) => each.end())),
  )
}

/** Lets all processes do the same task at once. Returns the sums of their outcomes. */
export async function askAll(processes: readonly LimiterProcess[], task: Task): Promise<Outcomes> {
  const sums: Record<string, number> = {}
  for (const { outcomes } of await Promise.all(processes.map((each) => each.ask(task)))) {
    for (const [outcome, count] of Object.entries(outcomes)) sums[outcome] = (sums[outcome] ?? 0) + count
  }
  return sums
}
