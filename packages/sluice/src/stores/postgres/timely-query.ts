// Statements outside of calls, such as those that find the table, with a longest time.
// Invariant: each of them settles. Calls wait for the table, so that one lost answer would stop all of them for ever.

import type { ConnectionUse, PostgresConnections, Row } from './postgres-client.ts'
import { LONGEST_MS } from './transaction-mode.ts'

/** Runs a text outside of transactions. Gives up after LONGEST_MS, and closes its connection, if the client can. */
export function queryInTime(connections: PostgresConnections, text: string): Promise<readonly Row[]> {
  const use: ConnectionUse = {}
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      use.isOver = true
      use.drop?.()
      reject(new Error(`there was no answer within ${LONGEST_MS} ms`))
    }, LONGEST_MS)
    const { unref } = timer as { unref?: () => unknown }
    unref?.call(timer)
    connections
      .query(text, undefined, use)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer))
  })
}
