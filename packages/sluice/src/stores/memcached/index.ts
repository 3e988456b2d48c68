// The door `sluice/memcached`.

export type { MemcachedAuth, MemcachedStoreOptions } from './memcached-options.ts'
export { type MemcachedStore, memcachedStore } from './memcached-store.ts'
