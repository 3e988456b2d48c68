// The quota of every limiter, in each one's own words, and the answer of every server.

import { fixedWindow } from 'sluice'
import { LARGE_QUOTA } from '../quota.mjs'

export const { limit, windowMs } = LARGE_QUOTA

export const RULES = fixedWindow({ limit, window: windowMs, name: 'quota' })

export const ANSWER = { hello: 'world' }

let left = limit

/**
 * The fields of a limiter about the quota, without counting anything.
 * @param {(name: string, value: string) => unknown} set
 */
export function writeFields(set) {
  left -= 1
  set('RateLimit-Policy', `"quota";q=${limit};w=3600`)
  set('RateLimit', `"quota";r=${left};t=3600`)
}
