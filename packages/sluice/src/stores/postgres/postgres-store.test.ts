// The suite for stores on a real PostgreSQL, through every client, and on PGlite. Walks through one client are longer.

import { describe } from 'vitest'
import { roundsOf } from '../../../../../test/rounds.ts'
import { CLIENTS, type Connected, clientFor, openPglite, realPostgres } from '../../../test/postgres/real-postgres.ts'
import type { Later } from '../../../test/redis/real-redis.ts'
import { type MakeStore, storeSuite } from '../../testing/index.ts'
import { postgresStore } from './postgres-store.ts'
import { postgresSchema } from './postgres-table.ts'

/** Makes stores on one table, which is emptied for each. */
function onEmptyTable(connected: Later<Connected>, table: string): MakeStore {
  return async (clock) => {
    await connected.it.run(`${postgresSchema({ table })};DELETE FROM ${table}`)
    return postgresStore(connected.it.client, { clock, table, mode: 'transaction' })
  }
}

describe('a server', () => {
  const server = realPostgres()
  for (const [i, [name, open]] of Object.entries(CLIENTS).entries()) {
    const connected = clientFor(() => open(server.it.url))
    const steps = i === 0 ? roundsOf({ usual: 100, long: 5000 }) : 20
    storeSuite(name, onEmptyTable(connected, `suite_${i}`), { steps })
  }
})

describe('in process', () => {
  storeSuite('PGlite', onEmptyTable(clientFor(openPglite), 'suite'), { steps: 20 })
})
