// The bytes that the logs of a memory store may take, beside its tables.

/** The bytes of the tables and logs of a memory store, and the bytes that they may take. */
export interface LogBudget {
  readonly tables: number
  logs: number
  /** The most bytes of tables or logs alone, and of both together. */
  readonly mostOfOne: number
  readonly mostOfBoth: number
}

/** Share of the logs' bytes that long logs leave free, so that new keys get a log without an eviction. */
const FREE_OF_LONG = 1 / 8

export function hasLogBytes(budget: LogBudget, bytes: number): boolean {
  return lackingLogBytes(budget, bytes) === 0
}

/** Returns the number of bytes that are lacking for `bytes` more. A long log may not take the last of them. */
export function lackingLogBytes(budget: LogBudget, bytes: number, isLong = false): number {
  const { tables, mostOfOne, mostOfBoth } = budget
  const logs = budget.logs + bytes + (isLong ? mostOfOne * FREE_OF_LONG : 0)
  return Math.max(0, logs - mostOfOne, tables + logs - mostOfBoth)
}
