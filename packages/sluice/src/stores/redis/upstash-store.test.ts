// The suite for stores over Upstash's REST API, on a front before a real Redis.

import { Redis as Upstash } from '@upstash/redis'
import { startUpstashFront } from '../../../../../test/servers/upstash-front.mjs'
import { beforeTests, freshPrefix, realRedis } from '../../../test/redis/real-redis.ts'
import { storeSuite } from '../../testing/index.ts'
import { redisStore } from './redis-store.ts'

const server = realRedis()
const front = beforeTests(
  () => startUpstashFront(server.it.port),
  (it) => it.end(),
)
const rest = () => ({ url: front.it.url, token: front.it.token })

storeSuite('url and token', (clock) => redisStore(rest(), { clock, prefix: freshPrefix() }), { steps: 200 })

storeSuite('@upstash/redis', (clock) => redisStore(new Upstash(rest()), { clock, prefix: freshPrefix() }), { steps: 50 })
