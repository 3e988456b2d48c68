// Several processes that share a Postgres, and nothing else.

import type { PostgresMode } from '../../src/stores/postgres/postgres-store.ts'
import { AskedProcess, type CallsTask, processesBeforeTests } from '../processes/asked-process.ts'
import type { Later } from '../redis/real-redis.ts'

/** Calls to a limiter, all made at once. */
export interface Task extends CallsTask {
  readonly table: string
  /** Default: `transaction`. */
  readonly mode?: PostgresMode | undefined
}

/** A process with a pool of its own. */
export type LimiterProcess = AskedProcess<Task>

const PROGRAM = new URL('./limiter-process.mjs', import.meta.url)

/** Starts a process for each skew, for the tests after it. */
export function limiterProcesses(url: () => string, skewsMs: readonly number[]): Later<readonly LimiterProcess[]> {
  return processesBeforeTests(() =>
    skewsMs.map((skewMs) => new AskedProcess<Task>(PROGRAM, { POSTGRES_URL: url(), SKEW_MS: String(skewMs) })),
  )
}
