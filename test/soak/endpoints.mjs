// Every endpoint that decides checks, with one shape of answer for all.

/** @import { Answer, Asker } from './asker.mjs' */

/** @typedef {{ allowed: boolean, limit?: number | undefined, remain: number, policy?: string | undefined }} Decided */

/**
 * `most` is the largest number of checks in one request. They are decided in order. `takesCost` is false if every check costs
 * one unit. `read` returns undefined if the answer is not a decision.
 * @typedef {{ name: string, most: number, takesCost: boolean, ask: (asker: Asker, key: string, check: Check) => Promise<Answer>, read: (answer: Answer) => Decided[] | undefined }} Endpoint
 */

/** @typedef {{ client: string, route: string, costs: readonly number[], attributes?: Record<string, string> }} Check */

/** @type {Endpoint} */
export const single = {
  name: 'check',
  most: 1,
  takesCost: true,
  ask: (asker, key, { client, route, costs: [cost], attributes }) =>
    asker.ask('POST', '/v1/check', { key, body: { client_id: client, route, cost, attributes } }),
  read: ({ status, body }) => (status === 200 ? [decided(body.data)] : undefined),
}

/** @type {Endpoint} */
export const batch = {
  name: 'batch',
  most: 5,
  takesCost: true,
  ask: (asker, key, { client, route, costs, attributes }) =>
    asker.ask('POST', '/v1/check/batch', {
      key,
      body: { checks: costs.map((cost) => ({ client_id: client, route, cost, attributes })) },
    }),
  read: ({ status, body }) => {
    if (status !== 200) return undefined
    const { results } = body.data
    return results.some((/** @type {any} */ result) => result.status === 'Error') ? undefined : results.map(decided)
  },
}

/** @type {Endpoint} */
const authorize = {
  name: 'authorize',
  most: 1,
  takesCost: true,
  ask: (asker, key, { client, route, costs: [cost] }) =>
    asker.ask('GET', `/v1/authorize?${new URLSearchParams({ client, route, cost: String(cost) })}`, { key }),
  read: ({ status, headers }) => {
    const remain = /;r=(\d+)/.exec(String(headers.ratelimit))?.[1]
    if ((status !== 200 && status !== 429) || remain === undefined) return undefined
    return [{ allowed: status === 200, remain: Number(remain) }]
  },
}

/** @type {Endpoint} */
const older = {
  name: 'older form',
  most: 1,
  takesCost: false,
  ask: (asker, key, { client, route }) =>
    asker.ask('POST', '/api/v1/rate/fixed-window', { key, body: { route }, headers: { 'x-client-id': client } }),
  read: single.read,
}

/** @type {readonly Endpoint[]} */
export const ENDPOINTS = [single, single, batch, authorize, older]

/** @param {{ status: string, limit: number, remain: number, policy?: string }} data */
export function decided({ status, limit, remain, policy }) {
  return { allowed: status === 'Allow', limit, remain, policy }
}
