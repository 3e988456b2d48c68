// The contestants of the Durable Object bench. All run in one Worker, and are asked by HTTP.

import { Agent, get } from 'node:http'
import { loadContestantsOf } from '../rounds/contestants.mjs'

/** @import { Limiter } from '../rounds/hits.mjs' */

export function loadContestants() {
  return loadContestantsOf(new URL('./contestants/', import.meta.url))
}

/**
 * @param {string} url of the Worker
 * @param {string} contestant
 * @returns {Limiter & { close(): void }}
 */
export function openContestant(url, contestant) {
  const agent = new Agent({ keepAlive: true })
  return {
    hit: (key) => textOf(`${url}/${contestant}?${encodeURIComponent(key)}`, agent),
    isAllowed: (text) => text === 'allowed',
    close: () => agent.destroy(),
  }
}

/**
 * @param {string} url
 * @param {Agent} agent
 * @returns {Promise<string>}
 */
function textOf(url, agent) {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (some) => {
        text += some
      })
      response.on('end', () => resolve(text))
    }).on('error', reject)
  })
}
