// Which frameworks take part: every file of frameworks/, under its file name. Adding one is adding a file.

import { readdirSync } from 'node:fs'

/** @import { Contestant } from '../rounds/contestants.mjs' */

/**
 * A server that answers every request with the same few bytes of JSON, behind a limiter or behind none. `start` listens on
 * 127.0.0.1; → its port.
 * @typedef {Contestant & { start(): Promise<number> }} LimitedServer
 */

/** @typedef {{ name: string, servers: LimitedServer[] }} Framework */

const folder = new URL('./frameworks/', import.meta.url)

/**
 * @param {string} name
 * @returns {Promise<Framework>}
 */
export async function loadFramework(name) {
  return { name, ...(await import(new URL(`${name}.mjs`, folder).href)) }
}

/** @returns {Promise<Framework[]>} */
export function loadFrameworks() {
  return Promise.all(readdirSync(folder).map((file) => loadFramework(file.replace(/\.mjs$/, ''))))
}

/**
 * @param {string} call
 * @param {() => Promise<number>} start
 * @returns {LimitedServer}
 */
export const sluice = (call, start) => ({ name: 'sluice', role: 'sluice', packageName: 'sluice', call, start })

/**
 * The same, but that it writes no fields: what the counting alone takes.
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
 * No limiter, but two fields such as sluice writes, with a number that changes: what fields alone take.
 * @param {() => Promise<number>} start
 * @returns {LimitedServer}
 */
export const fieldsByHand = (start) => ({
  name: 'fields by hand',
  role: 'aside',
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
export const bare = (start) => ({ name: 'bare', role: 'floor', packageName: null, call: 'no limiter', start })
