// Several processes that share memcached servers, and nothing else.

import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import { AskedProcess, processesBeforeTests } from '../processes/asked-process.ts'
import type { Later } from '../redis/real-redis.ts'

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

const PROGRAM = new URL('./limiter-process.mjs', import.meta.url)

/** Starts a process for each skew, for the tests after it. */
export function limiterProcesses(
  servers: () => readonly string[],
  skewsMs: readonly number[],
): Later<readonly AskedProcess<Task, Reply>[]> {
  return processesBeforeTests(() =>
    skewsMs.map((skewMs) => {
      const env = { MEMCACHED_SERVERS: servers().join(), SKEW_MS: String(skewMs) }
      return new AskedProcess<Task, Reply>(PROGRAM, env)
    }),
  )
}

/** Lets all processes do the same task at once. Returns the sums of their outcomes. */
export async function askAll(processes: readonly AskedProcess<Task, Reply>[], task: Task): Promise<Outcomes> {
  const sums: Record<string, number> = {}
  for (const { outcomes } of await Promise.all(processes.map((each) => each.ask(task)))) {
    for (const [outcome, count] of Object.entries(outcomes)) sums[outcome] = (sums[outcome] ?? 0) + count
  }
  return sums
}
