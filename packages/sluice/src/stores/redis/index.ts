// The door `sluice/redis`.

export type { BunRedisClient } from './bun-client.ts'
export type { GlideClient, IoredisClient, NodeRedisClient, RedisClient, SendCommand } from './redis-client.ts'
export { type RedisStore, type RedisStoreOptions, redisStore } from './redis-store.ts'
export type { UpstashClient } from './upstash-client.ts'
export type { UpstashRest } from './upstash-rest.ts'
