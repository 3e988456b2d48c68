// The table of databases: how each backend that several instances can share is opened. A client is loaded only if it is used.

import { type BackendKind, backendOf, type StoreAddress } from '../config/store-address.ts'
import type { DatabaseOptions, OpenedDatabase } from './database.ts'

/** Every backend but the data folder. */
export type DatabaseKind = Exclude<BackendKind, 'memory'>

export type DatabaseAddress = Exclude<StoreAddress, { readonly kind: 'memory' }>

type AddressOf<Kind extends DatabaseKind> = Extract<DatabaseAddress, { readonly kind: Kind | `${Kind}-sentinel` }>

type Open<Kind extends DatabaseKind> = (address: AddressOf<Kind>, options: DatabaseOptions) => Promise<OpenedDatabase>

const OPEN: { readonly [Kind in DatabaseKind]: Open<Kind> } = {
  redis: async (address, options) => (await import('./redis/open-redis.ts')).openRedis(address, options),
  postgres: async ({ url }, options) => (await import('./postgres/open-postgres.ts')).openPostgres(url, options),
  sqlite: async ({ path }, options) => (await import('./sqlite/open-sqlite.ts')).openSqlite(path, options),
}

export function openDatabase(address: DatabaseAddress, options: DatabaseOptions): Promise<OpenedDatabase> {
  const open = OPEN[backendOf(address) as DatabaseKind] as Open<DatabaseKind>
  return open(address as AddressOf<DatabaseKind>, options)
}
