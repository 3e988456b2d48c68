// The frameworks of the HTTP bench: every file of frameworks/, named by its file. To add a framework, add a file.

import { readdirSync } from 'node:fs'

/** @import { Contestant } from '../rounds/contestants.mjs' */

/**
 * A server that answers every request with the same few bytes of JSON, behind a limiter or behind none. `start` listens on
 * 127.0.0.1 and returns its port.
 * @typedef {Contestant & { start(): Promise<number> }} LimitedServer
 */

/** @typedef {{ name: string, servers: LimitedServer[] }} Framework */

const FOLDER = new URL('./frameworks/', import.meta.url)

/** @type {Contestant['role'][]} */
const TURN_ORDER = ['aside', 'floor', 'sluice', 'peer']

/**
 * @param {string} name
 * @returns {Promise<Framework>}
 */
export async function loadFramework(name) {
  return { name, ...(await import(new URL(`${name}.mjs`, FOLDER).href)) }
}

/** @returns {Promise<Framework[]>} */
export function loadFrameworks() {
  return Promise.all(readdirSync(FOLDER).map((file) => loadFramework(file.replace(/\.mjs$/, ''))))
}

/**
 * The servers of a framework in the order of their turns.
 * Invariant: those that bars compare are neighbours. Ours stands between the floor and the peer.
 * @param {readonly LimitedServer[]} servers
 */
export function inTurnOrder(servers) {
  return [...servers].sort((a, b) => TURN_ORDER.indexOf(a.role) - TURN_ORDER.indexOf(b.role))
}

/**
 * @param {string} call
 * @param {() => Promise<number>} start
 * @returns {LimitedServer}
 */
export const sluice = (call, start) => ({ name: 'sluice', role: 'sluice', packageName: 'sluice', call, start })

/**
 * The same without fields: the counting alone.
 * @param {() => Promise<number>} start
 * @returns {LimitedServer}
 */
export const sluiceWithoutFields = (start) => ({
  name: 'sluice, no fields',
  role: 'aside',
  packageName: 'sluice',
  call: 'the same, with headers: false',
  start,
})

/**
 * The floor: no limiter, but the two fields that sluice writes, with a number that changes, in a plain middleware of the framework.
 * @param {() => Promise<number>} start
 * @returns {LimitedServer}
 */
export const fieldsByHand = (start) => ({
  name: 'fields by hand',
  role: 'floor',
  packageName: null,
  call: 'no limiter, two fields',
  start,
})

/**
 * @param {string} packageName
 * @param {string} call
 * @param {() => Promise<number>} start
 * @returns {LimitedServer}
 */
export const peer = (packageName, call, start) => ({ name: packageName, role: 'peer', packageName, call, start })

/**
 * @param {() => Promise<number>} start
 * @returns {LimitedServer}
 */
export const bare = (start) => ({ name: 'bare', role: 'aside', packageName: null, call: 'no limiter', start })
