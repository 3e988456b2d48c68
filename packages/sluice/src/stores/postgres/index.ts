// The door `sluice/postgres`.

export type { PgClient, PgPool, PgPoolClient } from './pg-client.ts'
export type { PgliteClient, PgliteTransaction } from './pglite-client.ts'
export type { PostgresClient } from './postgres-client.ts'
export { type PostgresFunctionsOptions, postgresFunctions } from './postgres-functions.ts'
export type { PostgresJsClient, PostgresJsReserved } from './postgres-js-client.ts'
export { type PostgresMode, type PostgresStore, type PostgresStoreOptions, postgresStore } from './postgres-store.ts'
export { type PostgresSchemaOptions, postgresSchema } from './postgres-table.ts'
