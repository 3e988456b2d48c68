// A child process with a client of its own. REDIS_CLUSTER means that the port belongs to a cluster. Uses the built package, as
// applications do.

import '../processes/skewed-clock.mjs'
import { Cluster, Redis } from 'ioredis'
import { createLimiter } from 'sluice'
import { redisStore } from 'sluice/redis'
import { makeRule } from 'sluice/rules'
import { answerParent, answersTo } from '../processes/answer-parent.mjs'

/** @import { Task } from './limiter-processes.ts' */

const address = { host: '127.0.0.1', port: Number(process.env.REDIS_PORT) }
const client = process.env.REDIS_CLUSTER === undefined ? new Redis(address) : new Cluster([address])

answerParent((/** @type {Task} */ { rules, prefix, batch, calls }) => {
  const store = redisStore(client, { prefix, ...(batch !== undefined && { batch }) })
  return answersTo(createLimiter({ rules: rules.map(makeRule), store, failure: { timeoutMs: 20_000 } }), calls)
})
