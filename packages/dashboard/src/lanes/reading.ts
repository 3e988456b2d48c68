// The used units and the last answer of a rule at a time of its run.

import { spokenDuration } from '../forms/duration-text.ts'
import type { Hit, Run } from './run-rule.ts'

export interface Reading {
  readonly used: number
  /** The last hit at or before the time, if there was one. */
  readonly hit: Hit | undefined
}

export function readingAt({ level, hits }: Run, atMs: number): Reading {
  const used = level.used[lastAtOrBefore(level.length, (i) => level.atMs[i], atMs)] ?? 0
  return { used, hit: hits[lastAtOrBefore(hits.length, (i) => hits[i].atMs, atMs)] }
}

export function spokenHit(hit: Hit | undefined): string {
  if (hit === undefined) return 'no hit yet'
  return hit.allowed ? 'allowed' : `denied, retry after ${spokenDuration(hit.retryAfterMs)}`
}

/** Index of the last of `count` ascending numbers that is not above `most`. −1 if there is none. */
function lastAtOrBefore(count: number, at: (i: number) => number, most: number): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >> 1
    if (at(middle) <= most) low = middle + 1
    else high = middle
  }
  return low - 1
}
