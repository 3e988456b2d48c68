// Several processes that share a file, and nothing else.

import { type Answers, AskedProcess, type CallsTask, processesBeforeTests } from '../processes/asked-process.ts'
import type { Later } from '../redis/real-redis.ts'

/** Calls to a limiter, from `startMs` on. */
export interface Task extends CallsTask {
  readonly file: string
  readonly table: string
  readonly startMs: number
  readonly busyTimeoutMs: number
}

const PROGRAM = new URL('./limiter-process.mjs', import.meta.url)

/** Time in which every process has got its task and opened the file. */
const HEAD_START_MS = 40

export class LimiterProcesses {
  readonly #processes: Later<readonly AskedProcess<Task>[]>

  /** Starts the processes before the tests that follow, and ends them after them. */
  constructor(count: number) {
    this.#processes = processesBeforeTests(() => Array.from({ length: count }, () => new AskedProcess<Task>(PROGRAM)))
  }

  /** Every process makes the calls, at the same time. Returns the answers of each. */
  async ask(task: Omit<Task, 'startMs' | 'busyTimeoutMs'>): Promise<readonly Answers['answers'][]> {
    const startMs = Date.now() + HEAD_START_MS
    const replies = await Promise.all(this.#processes.it.map((each) => each.ask({ ...task, startMs, busyTimeoutMs: 20_000 })))
    return replies.map(({ answers }) => answers)
  }
}
