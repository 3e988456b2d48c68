// Names of the readings of hits under way in the results: by client, place, number of hits under way and contestant.

/** @import { Reading } from '../rounds/results.mjs' */
/** @import { ClientName, PlaceName } from './connections.mjs' */

export const HITS_TASK = 'hits under way'

/**
 * @param {ClientName} client
 * @param {PlaceName} placeName
 */
export function groupOf(client, placeName) {
  return `${client}, ${placeName}`
}

/**
 * @param {string} field
 * @param {number} underWay
 */
export function fieldAt(field, underWay) {
  return `${field} at ${underWay}`
}

/**
 * @param {{ client: ClientName, placeName: PlaceName, underWay: number }} where
 * @param {string} contestant
 * @param {string} field
 * @returns {Reading}
 */
export function reading({ client, placeName, underWay }, contestant, field) {
  return [HITS_TASK, groupOf(client, placeName), contestant, fieldAt(field, underWay)]
}
