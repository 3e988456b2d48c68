// Example traffic for a trial of a policy: 1.5 times what its first rule lets through, for a few windows.

import type { Rule } from 'sluice'
import type { Traffic } from '../../lanes/run-rule.ts'

export interface Trial {
  readonly traffic: Traffic
  readonly lengthMs: number
  /** The trial shows the largest number of units that passed in any span of this length. */
  readonly spanMs: number
}

export type TrialShape = 'steady' | 'bursts' | 'retrying'

const WINDOWS = 4

/** Largest number of hits in one window. For larger limits, each hit costs more. */
const MOST_HITS_A_WINDOW = 240

/** Number of retries of a denied client in one window. */
const RETRIES_A_WINDOW = 6

/** Sizes the traffic by the first rule: by its limit and its window. */
export function trialTraffic([rule]: readonly Rule[], shape: TrialShape): Trial {
  const { limit, windowMs } = rule
  const lengthMs = windowMs * WINDOWS
  const cost = Math.max(1, Math.ceil((limit * 1.5) / MOST_HITS_A_WINDOW))
  const hits = Math.max(2, Math.ceil((limit * 1.5) / cost))
  if (shape !== 'bursts') {
    const arrivals = Array.from({ length: hits * WINDOWS }, (_, i) => Math.floor((i * windowMs) / hits))
    return {
      traffic: { arrivals, retry: shape === 'retrying' ? Math.ceil(windowMs / RETRIES_A_WINDOW) : undefined, cost },
      lengthMs,
      spanMs: windowMs,
    }
  }
  const withinMs = Math.max(1, Math.floor(windowMs / 25))
  const count = Math.ceil(limit / cost)
  const arrivals = [windowMs, windowMs * 3].flatMap((boundaryMs) =>
    [boundaryMs - withinMs, boundaryMs].flatMap((startMs) =>
      Array.from({ length: count }, (_, i) => startMs + Math.floor((i * withinMs) / count)),
    ),
  )
  return { traffic: { arrivals, retry: undefined, cost }, lengthMs, spanMs: windowMs }
}
