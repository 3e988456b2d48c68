// The quota of every limiter, in each one's own words, and the answer of every server.

import { fixedWindow } from 'sluice'
import { roomyQuota } from '../quota.mjs'

export const { limit, windowMs } = roomyQuota

export const rules = fixedWindow({ limit, window: windowMs, name: 'quota' })

export const answer = { hello: 'world' }

let left = limit

/**
 * What a limiter says of it, without counting anything.
 * @param {(name: string, value: string) => unknown} set
 */
export function writeFields(set) {
  left -= 1
  set('RateLimit-Policy', `"quota";q=${limit};w=3600`)
  set('RateLimit', `"quota";r=${left};t=3600`)
}
