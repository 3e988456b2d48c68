// The cost of a decision by the number of hits under way: every contestant through one client, the same fixed window, allowed
// hits. One process measures a contestant with all numbers, because the warm-up takes longest.

import { LARGE_QUOTA } from '../../quota.mjs'
import { microseconds, perSecond, threeDigits, times } from '../../report/numbers.mjs'
import { KEYS } from '../../rounds/hits.mjs'
import { connect } from '../connections.mjs'
import { loadContestant } from '../contestants.mjs'
import { fieldAt, groupOf, HITS_TASK, reading } from '../readings.mjs'
import { trafficOn } from '../traffic.mjs'
import { empty } from '../usage.mjs'

/** @import { Results } from '../../rounds/results.mjs' */
/** @import { BenchTask } from '../../rounds/run-bench.mjs' */
/** @import { ClientName, Place, PlaceName } from '../connections.mjs' */
/** @import { Plan } from '../redis.mjs' */
/** @import { Timing } from '../../rounds/hits.mjs' */

/** The largest number first, so that the code is compiled before the smaller ones run. */
const COUNTS = [1_024, 128, 16, 1]

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
      rows: COUNTS.toReversed().flatMap((underWay) =>
        contestants.map(({ name }) => row(results, { client, placeName, underWay }, name)),
      ),
    }),
  }
}

/** @param {{ contestant: string, client: ClientName, place: Place, timing: Timing }} params */
export async function measure({ contestant, client, place, timing }) {
  await empty(place)
  const { create, sends } = await loadContestant(contestant)
  const connection = await connect(client, place)
  const traffic = trafficOn(await create(connection, LARGE_QUOTA))
  await traffic.warmUp(timing.warmUpMs)
  /** @type {Record<string, number>} */
  const all = {}
  for (const underWay of COUNTS) {
    const numbers = await traffic.measure({ place, sends, underWay, ...timing })
    if (numbers.allowedShare !== 1) throw new Error(`${contestant} denied hits that were below the limit`)
    for (const [field, number] of Object.entries(numbers)) all[fieldAt(field, underWay)] = number
  }
  connection.close()
  return all
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
