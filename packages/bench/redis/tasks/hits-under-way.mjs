// What a decision takes as more hits are under way: every contestant through one client, the same fixed window, hits that
// are allowed.

import { roomyQuota } from '../../quota.mjs'
import { microseconds, perSecond, threeDigits, times } from '../../report/numbers.mjs'
import { connect } from '../connections.mjs'
import { loadContestant } from '../contestants.mjs'
import { hitForAWhile, keys } from '../traffic.mjs'
import { empty } from '../usage.mjs'

/** @import { Results } from '../../rounds/results.mjs' */
/** @import { BenchTask } from '../../rounds/run-bench.mjs' */
/** @import { ClientName, Place } from '../connections.mjs' */
/** @import { Plan } from '../redis.mjs' */
/** @import { Timing } from '../traffic.mjs' */

const counts = [1, 16, 128, 1_024]

/** @param {number} underWay */
export const groupOf = (underWay) => `${underWay.toLocaleString('en')} under way`

/**
 * @param {ClientName} client
 * @param {'server' | 'cluster'} placeName
 */
export const nameOf = (client, placeName) => `${client}, ${placeName}`

/**
 * @param {ClientName} client
 * @param {'server' | 'cluster'} placeName
 * @returns {BenchTask<Plan>}
 */
export function hitsUnderWay(client, placeName) {
  const name = nameOf(client, placeName)
  return {
    name,
    file: import.meta.url,
    groups: ({ contestants, timing, ...places }) =>
      counts.map((underWay) => ({
        name: groupOf(underWay),
        entrants: contestants.map((contestant) => ({
          name: contestant.name,
          params: { contestant: contestant.name, client, place: places[placeName], underWay, ...timing },
        })),
      })),
    table: ({ contestants }, results) => ({
      title: `Decisions through ${client}, ${placeName === 'server' ? 'one server' : 'a cluster of three primaries'}, by hits under way`,
      note: `Over ${keys.toLocaleString('en')} keys.${placeName === 'cluster' ? " Redis CPU is the primaries'." : ''}`,
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
      rows: counts.flatMap((underWay) => contestants.map((contestant) => row(results, name, underWay, contestant.name))),
    }),
  }
}

/** @param {{ contestant: string, client: ClientName, place: Place, underWay: number } & Timing} params */
export async function measure({ contestant, client, place, ...work }) {
  await empty(place)
  const { create, sends } = await loadContestant(contestant)
  const connection = await connect(client, place)
  const limiter = await create(connection, roomyQuota)
  const numbers = await hitForAWhile(limiter, { place, sends, ...work })
  connection.close()
  if (numbers.allowedShare !== 1) throw new Error(`${contestant} denied hits that were below the limit`)
  return numbers
}

/**
 * @param {Results} results
 * @param {string} task
 * @param {number} underWay
 * @param {string} contestant
 */
function row(results, task, underWay, contestant) {
  const group = groupOf(underWay)
  const median = (/** @type {string} */ field) => results.median([task, group, contestant, field])
  const rateOf = (/** @type {string} */ who) => /** @type {const} */ ([task, group, who, 'hitsPerSecond'])
  return [
    underWay.toLocaleString('en'),
    contestant,
    perSecond(median('hitsPerSecond')),
    times(results.medianRatio(rateOf('sluice'), rateOf(contestant))),
    microseconds(median('clientMicros')),
    microseconds(median('redisMicros')),
    microseconds(median('commandMicros')),
    threeDigits(median('roundTrips')),
  ]
}
