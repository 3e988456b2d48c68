// The suite for stores on a real MariaDB, through every kind of client. Walks through one pool are longer than the others.

import { roundsOf } from '../../../../../test/rounds.ts'
import { CLIENTS, clientFor, MORE_CLIENTS } from '../../../test/mysql/clients.ts'
import { freshTable, realMariadb, withOwnKeys } from '../../../test/mysql/real-mariadb.ts'
import { storeSuite } from '../../testing/index.ts'
import { mysqlStore } from './mysql-store.ts'

const server = realMariadb()

const clients = [...Object.entries(CLIENTS), ...Object.entries(MORE_CLIENTS).slice(0, roundsOf({ usual: 0, long: 3 }))]

for (const [name, connect] of clients) {
  const connected = clientFor(connect, () => server.it.address)
  const table = freshTable()
  const steps = name === 'a pool' ? roundsOf({ usual: 150, long: 3000 }) : roundsOf({ usual: 10, long: 500 })
  storeSuite(name, (clock) => withOwnKeys(mysqlStore(connected.it.client, { clock, table })), { steps })
}
