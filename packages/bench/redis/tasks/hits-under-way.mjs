// The cost of a decision by the number of hits under way: every contestant through one client, the same fixed window, allowed hits.

import { LARGE_QUOTA } from '../../quota.mjs'
import { microseconds, perSecond, threeDigits, times } from '../../report/numbers.mjs'
import { KEYS } from '../../rounds/hits.mjs'
import { connect } from '../connections.mjs'
import { loadContestant } from '../contestants.mjs'
import { fieldAt, groupOf, HITS_TASK, reading } from '../readings.mjs'
import { turnsWithCounts } from '../turns.mjs'
import { empty } from '../usage.mjs'

/** @import { Results } from '../../rounds/results.mjs' */
/** @import { BenchTask } from '../../rounds/run-bench.mjs' */
/** @import { ClientName, Place, PlaceName } from '../connections.mjs' */
/** @import { Plan } from '../redis.mjs' */
/** @import { Limiter, Timing } from '../../rounds/hits.mjs' */

const COUNTS = [1, 16, 128, 1_024]

/**
 * @param {ClientName} client
 * @param {PlaceName} placeName
 * @returns {BenchTask<Plan>}
 */
export function hitsUnderWay(client, placeName) {
  return {
    name: HITS_TASK,
    file: import.meta.url,
    groups: ({ contestants, timing, ...places }) => [
      {
        name: groupOf(client, placeName),
        turns: timing.turns,
        prepare: () => empty(places[placeName]),
        entrants: contestants.map(({ name }) => ({
          name,
          params: { contestant: name, client, place: places[placeName], timing },
        })),
      },
    ],
    table: ({ contestants }, results) => ({
      title: `Decisions through ${client}, ${placeName === 'server' ? 'one server' : 'a cluster of three primaries'}`,
      note: `Over ${KEYS.toLocaleString('en')} keys.${placeName === 'cluster' ? " Redis CPU is the primaries'." : ''}`,
      columns: [
        'hits under way',
        'contestant',
        'decisions a second',
        'sluice is',
        'client CPU',
        'Redis CPU',
        'of it in commands',
        'round trips',
      ],
      rows: COUNTS.flatMap((underWay) => contestants.map(({ name }) => row(results, { client, placeName, underWay }, name))),
    }),
  }
}

/** @param {{ contestant: string, client: ClientName, place: Place, timing: Timing }} params */
export async function start({ contestant, client, place, timing }) {
  const { create, sends } = await loadContestant(contestant)
  const connection = await connect(client, place)
  const limiter = await create(connection, LARGE_QUOTA)
  return turnsWithCounts({ limiter: allowing(limiter, contestant), connection, place, sends, timing }, COUNTS, fieldAt)
}

/**
 * A denial ends the bench, because no quota is in reach.
 * @param {Limiter} limiter
 * @param {string} contestant
 * @returns {Limiter}
 */
function allowing({ hit, isAllowed }, contestant) {
  return {
    hit,
    isAllowed: (answer) => {
      if (isAllowed(answer)) return true
      throw new Error(`${contestant} denied hits that were below the limit`)
    },
  }
}

/**
 * @param {Results} results
 * @param {{ client: ClientName, placeName: PlaceName, underWay: number }} where
 * @param {string} contestant
 */
function row(results, where, contestant) {
  const of = (/** @type {string} */ who, /** @type {string} */ field) => reading(where, who, field)
  return [
    where.underWay.toLocaleString('en'),
    contestant,
    perSecond(results.median(of(contestant, 'hitsPerSecond'))),
    times(results.medianRatio(of('sluice', 'hitsPerSecond'), of(contestant, 'hitsPerSecond'))),
    microseconds(results.median(of(contestant, 'clientMicros'))),
    microseconds(results.median(of(contestant, 'redisMicros'))),
    microseconds(results.median(of(contestant, 'commandMicros'))),
    threeDigits(results.median(of(contestant, 'roundTrips'))),
  ]
}
