// A child process with a store of its own on the servers of MEMCACHED_SERVERS. It makes the calls that its parent sends. SKEW_MS
// shifts its clock. Uses the built package, as applications do.

import { createLimiter } from 'sluice'
import { memcachedStore } from 'sluice/memcached'
import { makeRule } from 'sluice/rules'
import { answerParent } from '../processes/answer-parent.mjs'

/** @import { Task } from './limiter-processes.ts' */

const skewMs = Number(process.env.SKEW_MS ?? 0)
const servers = (process.env.MEMCACHED_SERVERS ?? '').split(',')

/** @param {Task} task */
async function outcomesOf({ rules, prefix, hits, underWay = hits, subjects = ['ada'], timeoutMs = 20_000, attempts }) {
  const clock = { now: () => Date.now() + skewMs }
  const store = memcachedStore({ servers, prefix, clock, ...(attempts !== undefined && { attempts }) })
  const failure = { timeoutMs, failures: 1_000_000 }
  const limiter = createLimiter({ rules: rules.map(makeRule), store, failure })
  /** @type {Record<string, number>} */
  const outcomes = {}
  let started = 0
  const startMs = performance.now()
  async function hitUntilTheEnd() {
    while (started < hits) {
      const subject = subjects[started++ % subjects.length]
      const outcome = await limiter.hit(/** @type {string} */ (subject)).then(
        ({ allowed }) => (allowed ? 'allowed' : 'denied'),
        ({ code }) => code,
      )
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: underWay }, hitUntilTheEnd))
  const tookMs = performance.now() - startMs
  await limiter.close()
  await store.close()
  return { outcomes, tookMs }
}

answerParent(outcomesOf)
