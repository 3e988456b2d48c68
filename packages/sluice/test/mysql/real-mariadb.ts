// A real MariaDB for a test file: started before its tests, stopped after them. Tests keep apart by tables of their own.

import { MariadbServer } from '../../../../test/servers/mariadb-server.mjs'
import { freePort } from '../../../../test/servers/redis-server.mjs'
import type { Call } from '../../src/core/call.ts'
import { createLimiter, type Limiter, type LimiterOptions, type Store } from '../../src/index.ts'
import { beforeTests, type Later } from '../redis/real-redis.ts'

export function realMariadb(): Later<MariadbServer> {
  return realMariadbIn('UTC0')
}

/** A server in a time zone, in the form of POSIX. */
export function realMariadbIn(timeZone: string): Later<MariadbServer> {
  return beforeTests(
    async () => {
      // A killed process loses nothing that the operating system has.
      const server = new MariadbServer(await freePort(), ['--innodb-flush-log-at-trx-commit=2'])
      server.timeZone = timeZone
      await server.start()
      return server
    },
    (server) => server.stop(),
  )
}

let stores = 0

/** The same store, with keys of its own. To make a table for each of many tests takes long. */
export function withOwnKeys(store: Store<'async'>): Store<'async'> {
  const prefix = `${stores++}:`
  return {
    timing: store.timing,
    clock: store.clock,
    ...(store.guard && { guard: store.guard }),
    tally(rules) {
      const tally = store.tally(rules)
      const own = (call: Call): Call => ({
        ...call,
        charges: call.charges.map((charge) => ({ ...charge, key: prefix + charge.key })),
      })
      return { ask: (call, asker) => tally.ask(own(call), asker) }
    },
    clean: () => store.clean(),
    get size() {
      return store.size
    },
    close: () => store.close(),
  }
}

let tables = 0

export function freshTable(): string {
  return `test_${process.pid}_${tables++}`
}

/** A limiter that waits for its answers even on a busy machine. */
export function patientLimiter(rules: LimiterOptions['rules'], store: Store<'async'>): Limiter<'async'> {
  return createLimiter({ rules, store, failure: { timeoutMs: 20_000 } })
}
