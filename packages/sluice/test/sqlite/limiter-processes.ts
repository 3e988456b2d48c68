// Several processes that share a file, and nothing else.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import type { Decision } from '../../src/index.ts'

/** Calls to a limiter over these rules, from `startMs` on. */
export interface Task {
  readonly file: string
  readonly table: string
  readonly rules: readonly RuleSpec[]
  readonly calls: readonly (readonly [method: string, ...args: unknown[]])[]
  readonly startMs: number
  readonly busyTimeoutMs: number
}

type Answers = readonly (number & Decision)[]

const program = fileURLToPath(new URL('./limiter-process.mjs', import.meta.url))

/** Time in which every process has got its task and opened the file. */
const HEAD_START_MS = 40

export class LimiterProcesses {
  #children: ChildProcess[] = []
  #asked = 0

  /** Starts the processes before the tests that follow, and ends them after them. */
  constructor(count: number) {
    beforeAll(async () => {
      this.#children = Array.from({ length: count }, () => fork(program))
      await Promise.all(this.#children.map((child) => once(child, 'message')))
    })
    afterAll(async () => {
      const ended = this.#children.map((child) => once(child, 'exit'))
      for (const child of this.#children) child.disconnect()
      await Promise.all(ended)
    })
  }

  /** Every process makes the calls, at the same time. Returns the answers of each. */
  ask(task: Omit<Task, 'startMs' | 'busyTimeoutMs'>): Promise<readonly Answers[]> {
    const startMs = Date.now() + HEAD_START_MS
    return Promise.all(this.#children.map((child) => this.#askOne(child, { ...task, startMs, busyTimeoutMs: 20_000 })))
  }

  #askOne(child: ChildProcess, task: Task): Promise<Answers> {
    const id = this.#asked++
    return new Promise((resolve, reject) => {
      const listen = (reply: { id: number; answers: Answers; error?: string }) => {
        if (reply.id !== id) return
        child.off('message', listen)
        if (reply.error === undefined) resolve(reply.answers)
        else reject(new Error(reply.error))
      }
      child.on('message', listen)
      child.send({ id, task })
    })
  }
}
