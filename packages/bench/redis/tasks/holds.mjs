// A reserve and its settle beside a hit.

import { createLimiter, fixedWindow, holds } from 'sluice'
import { redisStore } from 'sluice/redis'
import { LARGE_QUOTA } from '../../quota.mjs'
import { microseconds, perSecond, times } from '../../report/numbers.mjs'
import { connect } from '../connections.mjs'
import { limiterOver, sends } from '../contestants/sluice.mjs'
import { MANY, turnsOf } from '../turns.mjs'
import { empty } from '../usage.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Connection, Place } from '../connections.mjs' */
/** @import { Plan } from '../redis.mjs' */
/** @import { Limiter, Timing } from '../../rounds/hits.mjs' */

export const name = 'holds'
export const file = import.meta.url

const RULE = fixedWindow({ limit: LARGE_QUOTA.limit, window: LARGE_QUOTA.windowMs })
export const GROUP = `${MANY} under way`
export const HIT = 'hit'
export const RESERVE = 'reserve + settle'

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ server, timing }) {
  const entrants = [HIT, RESERVE].map((work) => ({ name: work, params: { work, place: server, timing } }))
  return [{ name: GROUP, turns: timing.turns, entrants, prepare: () => empty(server) }]
}

/** @param {{ work: string, place: Place, timing: Timing }} params */
export async function start({ work, place, timing }) {
  const connection = await connect('ioredis', place)
  const limiter = work === HIT ? limiterOver(RULE, connection) : reservingLimiter(connection)
  return turnsOf({ limiter, connection, place, sends, timing })
}

/**
 * @param {Connection} connection
 * @returns {Limiter}
 */
function reservingLimiter({ client }) {
  // Keys of its own: the hits shall meet no holds.
  const store = redisStore(client, { prefix: 'held' })
  const limiter = createLimiter({ rules: RULE, store, holds: holds(), failure: { timeoutMs: 10_000 } })
  return {
    hit: async (key) => {
      const hold = await limiter.reserve(key, { hold: 1 })
      await hold.settle(1)
      return hold.decision
    },
    isAllowed: (decision) => decision.allowed && decision.source === 'store',
  }
}

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(_plan, results) {
  const median = (/** @type {string} */ work, /** @type {string} */ field) => results.median([name, GROUP, work, field])
  const ratio = results.medianRatio([name, GROUP, HIT, 'hitsPerSecond'], [name, GROUP, RESERVE, 'hitsPerSecond'])
  return {
    title: `A reserve and its settle, ${MANY} under way, through ioredis`,
    note: 'In brackets: the time of both, as a multiple of the time of a hit.',
    columns: ['work', 'a second', 'client CPU', 'Redis CPU', 'of it in commands'],
    rows: [HIT, RESERVE].map((work) => [
      work,
      `${perSecond(median(work, 'hitsPerSecond'))} (${times(work === HIT ? 1 : ratio)})`,
      microseconds(median(work, 'clientMicros')),
      microseconds(median(work, 'redisMicros')),
      microseconds(median(work, 'commandMicros')),
    ]),
  }
}
