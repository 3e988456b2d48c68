// The door `sluice/mysql`.

export type { MysqlCallbackClient, MysqlClient, MysqlConnection, MysqlPool, MysqlQuery } from './mysql-client.ts'
export { type MysqlStore, type MysqlStoreOptions, mysqlStore } from './mysql-store.ts'
export { type MysqlSchemaOptions, mysqlSchema } from './mysql-table.ts'
