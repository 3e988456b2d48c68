// Several processes that share a Redis, and nothing else.

import { AskedProcess, type CallsTask, processesBeforeTests } from '../processes/asked-process.ts'
import type { Later } from './real-redis.ts'

/** Calls to a limiter, all made at once. */
export interface Task extends CallsTask {
  readonly prefix: string
  readonly batch?: number
}

const PROGRAM = new URL('./limiter-process.mjs', import.meta.url)

export class LimiterProcess extends AskedProcess<Task> {
  constructor(port: number, env: Readonly<Record<string, string>> = {}) {
    super(PROGRAM, { REDIS_PORT: String(port), ...env })
  }
}

/** Starts a process for each skew, for the tests after it. */
export function limiterProcesses(port: () => number, skewsMs: readonly number[]): Later<readonly AskedProcess<Task>[]> {
  return processesBeforeTests(() => skewsMs.map((skewMs) => new LimiterProcess(port(), { SKEW_MS: String(skewMs) })))
}

/** Starts `count` processes that share a cluster, for the tests after it. */
export function clusterProcesses(port: () => number, count: number): Later<readonly AskedProcess<Task>[]> {
  return processesBeforeTests(() => Array.from({ length: count }, () => new LimiterProcess(port(), { REDIS_CLUSTER: '1' })))
}
