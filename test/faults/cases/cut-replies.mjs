// The answer to three hits is cut after each of its bytes in turn. A call without its whole answer fails, no call gets the
// answer of another, and each hit is counted once.

import { createLimiter, fixedWindow, SluiceError } from 'sluice'
import { startRedis } from '../../servers/redis-server.mjs'
import { startProxy } from '../../servers/tcp-proxy.mjs'
import { RECOVERS_WITHIN_MS, SLACK_MS } from '../assertions.mjs'
import { openClient, openObserver } from '../clients.mjs'
import { againIfStalled } from '../run-fault.mjs'
import { StallWatch } from '../stalls.mjs'

/** @import { ClientName, OpenedRedis } from '../clients.mjs' */
/** @import { OnStep, Outcome } from '../run-fault.mjs' */
/** @import { RedisServer } from '../../servers/redis-server.mjs' */

const TIMEOUT_MS = 3000
const READS_WITHIN_MS = 5000
const LIMIT = 1000
const RULE = fixedWindow({ limit: LIMIT, window: '1h', name: 'f' })

/** Units used before the cut. They differ, so that every key has a different answer. */
const USED = { a: 10, b: 200, c: 555 }

/** More bytes than the answer has. */
const MOST_BYTES = 70

/** The parts that all cuts of one run share. @typedef {{ server: RedisServer, observer: OpenedRedis, stalls: StallWatch }} Shared */

/** Number of connections that are cut at the same time. */
const AT_ONCE = 15

export const cutReplies = {
  name: 'cut-replies',
  what: 'the answer is cut after each of its bytes',
  /** @param {OnStep} [onStep] */
  run(onStep = () => {}) {
    return againIfStalled(() => runOnce(onStep), onStep)
  },
}

/** @param {OnStep} onStep */
async function runOnce(onStep) {
  const server = await startRedis()
  const shared = { server, observer: openObserver(server.port), stalls: new StallWatch() }
  try {
    onStep('answers are cut')
    return await Promise.all([cutEverywhere(shared, 'ioredis'), cutEverywhere(shared, 'node-redis')])
  } finally {
    shared.stalls.stop()
    shared.observer.close()
    await server.stop()
  }
}

/**
 * @param {Shared} shared
 * @param {ClientName} client
 * @returns {Promise<Outcome>}
 */
async function cutEverywhere(shared, client) {
  const cuts = []
  for (let first = 0; first <= MOST_BYTES; first += AT_ONCE) {
    const bytes = Array.from({ length: AT_ONCE }, (_, i) => first + i)
    cuts.push(...(await Promise.all(bytes.map((n) => cutAfter(n, shared, client)))))
  }
  const whole = cuts.findIndex(({ answered }) => answered > 0)
  const wrong = cuts.flatMap(({ bytes, answered, wrong }) => {
    const expected = bytes < whole ? 0 : 3
    return answered === expected ? wrong : [...wrong, `cut after ${bytes} bytes: ${answered} hits answered, not ${expected}`]
  })
  if (whole < 20) wrong.push(`an answer to three hits cannot have ${whole} bytes`)
  return {
    fault: 'cut-replies',
    target: `${client}, throw`,
    hits: cuts.length * 4,
    allowed: cuts.reduce((sum, { answered }) => sum + answered + 1, 0),
    bound: cuts.length * 4,
    worstMs: Math.max(...cuts.map(({ worstMs }) => worstMs)),
    recoveryMs: Math.max(...cuts.map(({ recoveryMs }) => recoveryMs)),
    stalledMs: shared.stalls.worstMs,
    failures: cuts[0].failures,
    wrong,
  }
}

/**
 * @param {number} bytes
 * @param {Shared} shared
 * @param {ClientName} name
 */
async function cutAfter(bytes, { server, observer, stalls }, name) {
  /** @type {string[]} */
  const wrong = []
  const proxy = await startProxy(server.port)
  const opened = openClient(name, proxy.port)
  const prefix = `faults-${name}-${bytes}`
  const limiter = createLimiter({
    rules: RULE,
    store: opened.makeStore(prefix),
    failure: { timeoutMs: TIMEOUT_MS, failures: 100 },
  })
  const storeCounts = createLimiter({
    rules: RULE,
    store: observer.makeStore(prefix),
    failure: { timeoutMs: READS_WITHIN_MS },
  })
  opened.connect()
  try {
    for (const [key, used] of Object.entries(USED)) await recovered(() => limiter.set(key, used))
    const before = limiter.failures
    proxy.conditions = { cutDownAfter: bytes, cutOnce: true }
    const startMs = performance.now()
    let worstMs = 0
    const hits = Object.entries(USED).map(async ([key, used]) => {
      const decision = await limiter.hit(key).catch((/** @type {SluiceError} */ error) => error)
      worstMs = Math.max(worstMs, performance.now() - startMs)
      if (decision instanceof SluiceError) {
        if (decision.code !== 'ERR_STORE_UNKNOWN') wrong.push(`cut after ${bytes} bytes: ${decision.message}`)
        return false
      }
      if (decision.remaining !== LIMIT - used - 1)
        wrong.push(`cut after ${bytes} bytes: ${key} got the answer ${decision.remaining}`)
      return true
    })
    const answered = (await Promise.all(hits)).filter((isAnswered) => isAnswered).length
    const settledMs = performance.now()
    proxy.conditions = {}
    await recovered(() => limiter.hit('a'))
    const recoveryMs = performance.now() - settledMs
    // On a busy machine a client may notice a broken connection late. Then one more hit is in doubt.
    const doubtful = inDoubt(limiter.failures) - inDoubt(before) - (3 - answered)
    const lateMs = worstMs - stalls.stolenBetween(startMs, startMs + worstMs) - TIMEOUT_MS
    if (lateMs > SLACK_MS) wrong.push(`cut after ${bytes} bytes: settled ${Math.round(lateMs)} ms after the deadline`)
    for (const [key, used] of Object.entries(USED)) {
      const counted = (await storeCounts.get(key)) - used
      const [least, most] = key === 'a' ? [2, 2 + doubtful] : [1, 1]
      if (counted < least || counted > most) wrong.push(`cut after ${bytes} bytes: ${key} counted ${counted} times, not ${least}`)
    }
    return { bytes, answered, worstMs, recoveryMs, failures: limiter.failures, wrong }
  } catch (error) {
    wrong.push(`cut after ${bytes} bytes: ${error}`)
    return { bytes, answered: 0, worstMs: 0, recoveryMs: 0, failures: limiter.failures, wrong }
  } finally {
    opened.close()
    await proxy.stop()
  }
}

/** @param {import('sluice').FailureCounts} failures */
function inDoubt({ timeout, unknown }) {
  return timeout + unknown
}

/**
 * @template T
 * @param {() => Promise<T>} ask
 * @returns {Promise<T>}
 */
async function recovered(ask) {
  const endMs = performance.now() + RECOVERS_WITHIN_MS
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (performance.now() > endMs) throw error
    }
  }
}
