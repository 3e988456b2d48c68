// More policies in rotation than limiters are kept, and the server dies. The stand-in limits every policy. The server stays
// down: other faults measure the recovery.

import { setTimeout as pause } from 'node:timers/promises'
import { createLimiter, fixedWindow } from 'sluice'
import { startRedis } from '../../servers/redis-server.mjs'
import { mostAdmitted } from '../bounds.mjs'
import { openClient } from '../clients.mjs'
import { againIfStalled } from '../run-fault.mjs'
import { StallWatch } from '../stalls.mjs'
import { NO_FAILURES } from '../target.mjs'

/** @import { ClientName } from '../clients.mjs' */
/** @import { OnStep, Outcome } from '../run-fault.mjs' */

const POLICIES = 10_000
const LIMIT = 1
const AT_ONCE = 1000

/** No limiter is kept between rounds, which is the hardest rotation. */
const ROUNDS = 4

const FAILURE = /** @type {const} */ ({ timeoutMs: 1000, then: 'local' })

const RULES = Array.from({ length: POLICIES }, (_, i) => fixedWindow({ limit: LIMIT, window: '1d', name: `policy-${i}` }))

export const manyPolicies = {
  name: 'many-policies',
  what: `SIGKILL, with ${POLICIES} policies in rotation`,
  /** @param {OnStep} [onStep] */
  run(onStep = () => {}) {
    return againIfStalled(async () => [await runOnce('ioredis', onStep), await runOnce('node-redis', onStep)], onStep)
  },
}

/**
 * @param {ClientName} client
 * @param {OnStep} onStep
 * @returns {Promise<Outcome>}
 */
async function runOnce(client, onStep) {
  const stalls = new StallWatch()
  const server = await startRedis()
  const opened = openClient(client, server.port)
  const store = opened.makeStore('faults-many')
  const failures = { ...NO_FAILURES }
  const storeCounts = { hits: 0, allowed: 0, byStore: 0, unanswered: 0, worstMs: 0 }
  /** Hits every policy once, by a limiter that is made for this hit only. */
  const round = async () => {
    for (let first = 0; first < POLICIES; first += AT_ONCE) {
      await Promise.all(
        RULES.slice(first, first + AT_ONCE).map(async (rules) => {
          const limiter = createLimiter({ rules, store, failure: FAILURE })
          const startMs = performance.now()
          const { allowed, source } = await limiter.hit('ada')
          storeCounts.worstMs = Math.max(storeCounts.worstMs, performance.now() - startMs)
          storeCounts.hits += 1
          if (allowed) storeCounts.allowed += 1
          if (source === 'fallback') storeCounts.unanswered += 1
          for (const [reason, count] of Object.entries(limiter.failures)) {
            failures[/** @type {keyof typeof failures} */ (reason)] += count
          }
          await limiter.close()
        }),
      )
    }
  }
  opened.connect()
  try {
    await pause(150)
    onStep('first use')
    await round()
    const wrong =
      storeCounts.unanswered === 0 ? [] : [`first use: ${storeCounts.unanswered} were not decided by Redis, which was there`]
    onStep('killed')
    await server.kill()
    for (let i = 0; i < ROUNDS; i++) await round()
    const bound = POLICIES * mostAdmitted({ limit: LIMIT, then: 'local', processes: 1, lost: 0, unanswered: ROUNDS })
    if (storeCounts.allowed > bound) wrong.push(`${storeCounts.allowed} admitted, bound ${bound}`)
    if (storeCounts.unanswered < ROUNDS * POLICIES) wrong.push('a hit was answered by a server that is dead')
    const { hits, allowed, worstMs } = storeCounts
    const target = `${client}, local`
    return {
      fault: 'many-policies',
      target,
      hits,
      allowed,
      bound,
      worstMs,
      recoveryMs: 0,
      stalledMs: stalls.worstMs,
      failures,
      wrong,
    }
  } finally {
    stalls.stop()
    opened.close()
    await server.stop()
  }
}
