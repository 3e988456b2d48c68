// Adapter for postgres.js.

import type { PostgresConnections, Row } from './postgres-client.ts'
import { isServerRefusal } from './postgres-errors.ts'
import { type HeldConnection, twoRoundTrips } from './two-round-trips.ts'

/** The function `sql` of postgres.js. */
export interface PostgresJsClient {
  (first: never, ...rest: never[]): unknown
  unsafe(text: string, parameters?: never[], options?: { prepare?: boolean }): PromiseLike<unknown>
  reserve(): Promise<PostgresJsReserved>
  readonly options: { readonly fetch_types: boolean }
}

export interface PostgresJsReserved {
  unsafe(text: string, parameters?: never[]): PromiseLike<unknown>
  release(): void
}

export function isPostgresJs(client: object): client is PostgresJsClient {
  const { unsafe, reserve } = (client ?? {}) as Partial<PostgresJsClient>
  return typeof client === 'function' && typeof unsafe === 'function' && typeof reserve === 'function'
}

export function postgresJs(sql: PostgresJsClient): PostgresConnections {
  const reservations = new Reservations(sql)
  return {
    isSingle: false,
    query: (text, parameters) => ask(sql, text, parameters),
    prepared: async ({ text }, parameters) =>
      (await sql.unsafe(text, parameters as unknown as never[], { prepare: true })) as readonly Row[],
    transaction: (exchange) => twoRoundTrips(() => reservations.hold(), exchange),
  }
}

/** Delay before a connection is asked for once more. Each further delay is twice as long. */
const FIRST_DELAY_MS = 50
const MOST_TIMES = 7

/**
 * Reserves connections. The method `begin` of the client would take a round trip of its own for BEGIN, and one for COMMIT.
 * Invariant: a connection that was lost is neither used nor released. The client has taken it back already, and may have given it to
 * others.
 */
class Reservations {
  readonly #sql: PostgresJsClient
  /** True after a connection was lost or not made. */
  #isSuspect = false

  constructor(sql: PostgresJsClient) {
    this.#sql = sql
  }

  async hold(): Promise<HeldConnection> {
    const reserved = await this.#reserve()
    let isMine = true
    return {
      run: async (text) => {
        if (!isMine) throw new Error('the connection was lost')
        try {
          return await ask(reserved, text)
        } catch (error) {
          if (!isServerRefusal(error)) {
            isMine = false
            this.#isSuspect = true
          }
          throw error
        }
      },
      release() {
        if (isMine) reserved.release()
        isMine = false
      },
      // The client has no way to close one connection. It notices by itself that its socket has gone.
      drop() {},
    }
  }

  /**
   * If connections close at the same moment, the client may forget a reservation, and its promise never settles. So it is asked
   * again, a few times, and connections that come too many are given back.
   */
  #reserve(): Promise<PostgresJsReserved> {
    return new Promise((resolve, reject) => {
      let isSettled = false
      let timer: ReturnType<typeof setTimeout> | undefined
      const settle = (): boolean => {
        const isFirst = !isSettled
        isSettled = true
        clearTimeout(timer)
        return isFirst
      }
      const askAgain = (times: number, delayMs: number): void => {
        this.#reserveOnce().then(
          (reserved) => (settle() ? resolve(reserved) : reserved.release()),
          (error: unknown) => settle() && reject(error),
        )
        if (times < MOST_TIMES) timer = setTimeout(() => askAgain(times + 1, 2 * delayMs), delayMs)
      }
      askAgain(1, FIRST_DELAY_MS)
    })
  }

  /**
   * A reservation must find an open connection in two cases, so a plain query comes before it:
   * - After a failure. A reservation that fails stays in the queue of the client, and may take a later connection for ever.
   * - With `fetch_types: false`. A reservation that opens a connection itself never settles.
   */
  async #reserveOnce(): Promise<PostgresJsReserved> {
    if (this.#isSuspect || this.#sql.options?.fetch_types === false) {
      await this.#sql.unsafe('SELECT 1')
      this.#isSuspect = false
    }
    try {
      return await this.#sql.reserve()
    } catch (error) {
      this.#isSuspect = true
      throw error
    }
  }
}

async function ask(
  sql: Pick<PostgresJsClient, 'unsafe'>,
  text: string,
  parameters?: readonly unknown[],
): Promise<readonly Row[]> {
  const result = (await sql.unsafe(text, parameters as never[] | undefined)) as readonly Row[] | readonly (readonly Row[])[]
  // The result of several statements is an array of results, each of which is an array of rows.
  const last = result[result.length - 1]
  return Array.isArray(last) ? (last as readonly Row[]) : (result as readonly Row[])
}
