// Real servers for a test file: started before its tests, stopped after them. Tests keep apart by prefixes of their own.

import { type MemcachedServer, startMemcached } from '../../../../test/servers/memcached-server.mjs'
import type { MemcachedStoreOptions } from '../../src/stores/memcached/memcached-options.ts'
import { type MemcachedStore, memcachedStore } from '../../src/stores/memcached/memcached-store.ts'
import { beforeTests, freshPrefix, type Later } from '../redis/real-redis.ts'

export function realMemcached(...args: string[]): Later<MemcachedServer> {
  return beforeTests(
    () => startMemcached(...args),
    (server) => server.stop(),
  )
}

export function realMemcachedServers(count: number): Later<readonly MemcachedServer[]> {
  return beforeTests(
    () => Promise.all(Array.from({ length: count }, () => startMemcached())),
    (servers) => Promise.all(servers.map((server) => server.stop())),
  )
}

/** A store on these servers, under a prefix of its own. */
export function storeOn(
  servers: readonly { readonly address: string }[],
  options: Partial<MemcachedStoreOptions> = {},
): MemcachedStore {
  return memcachedStore({ servers: servers.map(({ address }) => address), prefix: freshPrefix(), ...options })
}
