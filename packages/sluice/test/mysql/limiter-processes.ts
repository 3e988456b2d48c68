// Several processes that share a MariaDB, and nothing else.

import { AskedProcess, type CallsTask, type MethodCall, processesBeforeTests } from '../processes/asked-process.ts'
import type { Later } from '../redis/real-redis.ts'
import type { Address } from './clients.ts'

/** Calls to a limiter. The calls of a turn are made at once, and the turns one after another. */
export interface Task extends Omit<CallsTask, 'calls'> {
  readonly table: string
  readonly turns: readonly (readonly MethodCall[])[]
}

const PROGRAM = new URL('./limiter-process.mjs', import.meta.url)

export class LimiterProcess extends AskedProcess<Task> {
  constructor(address: Address, skewMs: number) {
    super(PROGRAM, { ADDRESS: JSON.stringify(address), SKEW_MS: String(skewMs) })
  }
}

/** Starts a process for each skew, for the tests after it. */
export function limiterProcesses(address: () => Address, skewsMs: readonly number[]): Later<readonly AskedProcess<Task>[]> {
  return processesBeforeTests(() => skewsMs.map((skewMs) => new LimiterProcess(address(), skewMs)))
}
