// The memcached store: the compare-and-swap engine over servers that speak memcached's meta protocol. One item holds the states of
// all rules of one key.

import type { Store } from '../../core/store.ts'
import { compareAndSwapStore } from '../../engines/compare-and-swap.ts'
import { ServerChoice } from '../../engines/server-choice.ts'
import { storeError } from '../../engines/store-errors.ts'
import { checkedClock, systemClock } from '../../engines/system-clock.ts'
import type { Change } from '../../engines/working-states.ts'
import type { Connection, Greeting } from './connection.ts'
import { itemExpiry } from './item-expiry.ts'
import { type CheckedOptions, checkMemcachedOptions, type MemcachedStoreOptions } from './memcached-options.ts'
import { deleteItem, getItem, LONGEST_KEY, NO_OPERATION, setItem, signIn } from './meta-commands.ts'
import { openSocket } from './open-socket.ts'
import { ServerClient } from './server-client.ts'

export interface MemcachedStore extends Store<'async'> {}

/**
 * Memcached's number of a write, and the connection on which it was read. A server that has restarted uses the same numbers again,
 * and its connections are new.
 */
interface Version {
  readonly cas: string
  readonly connection: Connection
}

/** Names of records contain no bar, so different prefixes give different keys. */
const SEPARATOR = '|'

/** Groups of calls under way. Each waits for its own records only. */
const GROUPS = 512

/** Makes a store in memcached 1.6 or newer, for any number of processes. */
export function memcachedStore(options: MemcachedStoreOptions): MemcachedStore {
  const checked = checkMemcachedOptions(options)
  const { prefix, addresses, attempts, maxValueBytes, connectTimeoutMs, timeoutMs } = checked
  const clock = checked.clock === undefined ? systemClock : checkedClock(checked.clock)
  const servers = openServers(checked)
  const choice = new ServerChoice(addresses.map(({ name }) => name))
  const serverOf = (name: string): ServerClient => servers[choice.indexOf(name)]
  const keyOf = (name: string): string => `${prefix}${SEPARATOR}${name}`

  async function swap({ name, value, endsAt }: Change, version: Version | undefined): Promise<boolean> {
    const server = serverOf(name)
    const key = keyOf(name)
    if (version !== undefined && !server.uses(version.connection)) return false
    if (value === undefined) return version === undefined || server.connected().ask(deleteItem(key, version.cas))
    if (value.byteLength > maxValueBytes) {
      // Memcached would drop the item that it has under this key.
      throw storeError('fatal', `the states of one key take ${value.byteLength} bytes, the most is ${maxValueBytes}`)
    }
    const expiry = itemExpiry({ endsAt, nowMs: clock.now(), systemMs: systemClock.now() })
    return server.connected().ask(setItem({ key, value, expiry, version: version?.cas }))
  }

  return compareAndSwapStore<Version>({
    clock,
    attempts,
    groups: GROUPS,
    longestName: LONGEST_KEY - prefix.length - SEPARATOR.length,
    // The connection notices silence earlier. This is for a socket that never ends.
    longestMs: 2 * (connectTimeoutMs + timeoutMs) + 1000,
    ...(servers.length > 1 && { serverOf: (name: string) => serverOf(name).name }),
    async read(name) {
      const connection = serverOf(name).connected()
      const item = await connection.ask(getItem(keyOf(name)))
      return item === undefined ? undefined : { value: item.value, version: { cas: item.version, connection } }
    },
    swap,
    now: () => clock.now(),
    async close() {
      for (const server of servers) server.close()
    },
  })
}

function openServers(options: CheckedOptions): readonly ServerClient[] {
  const { addresses, auth, tls, clock, connectTimeoutMs, timeoutMs, maxValueBytes, maxCommands, maxQueuedBytes } = options
  const signingIn: Greeting[] = auth === undefined ? [] : [{ text: signIn(auth.username, auth.password), code: 'STORED' }]
  return addresses.map(
    (address) =>
      new ServerClient({
        server: address.name,
        openSocket: () => openSocket(address, tls),
        openEvent: tls === undefined ? 'connect' : 'secureConnect',
        greetings: [...signingIn, { text: NO_OPERATION, code: 'MN' }],
        clock: clock === undefined ? systemClock : checkedClock(clock),
        random: () => Math.random(),
        ...{ connectTimeoutMs, timeoutMs, maxValueBytes, maxCommands, maxQueuedBytes },
      }),
  )
}
