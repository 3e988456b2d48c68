// The facts about the sliding window.

import { describeRule } from '../../core/rule-facts.ts'
import { SLIDING_WINDOW_OPTIONS, slidingWindow } from './sliding-window.ts'

export const slidingWindowFacts = /* @__PURE__ */ describeRule({
  algorithm: 'sliding-window',
  call: 'slidingWindow',
  make: slidingWindow,
  title: 'Sliding window',
  summary: 'the moving window, estimated from two counters',
  purpose: 'about the limit, for few bytes a key, and no double burst at a boundary',
  worstCase: "2 × `limit`, but the second half no faster than the limit's own rate",
  kinds: SLIDING_WINDOW_OPTIONS,
  options: {
    limit: { label: 'Limit', help: 'Units that a window should let through.' },
    window: { label: 'Window', help: 'Length of a window.' },
    anchor: {
      label: 'Windows from',
      choices: { 'first-hit': 'first hit', clock: 'clock' },
      help:
        "Start of the windows: from a key's first hit on (default), until the key has been silent for two windows; " +
        'or at multiples of the window since the epoch.',
    },
    round: {
      label: 'Share of the last window',
      choices: { down: 'whole units, rounded down', none: 'with its fraction' },
      isRare: true,
      help: "The last window's share: in whole units, rounded down (default), or with its fraction.",
    },
  },
  rate: { units: 'limit', every: 'window' },
  inWords: ({ limit, window }) => `sliding window ${limit} every ${window}`,
  example: { limit: 100, window: '1m' },
  forms: {
    plain: { limit: 9, window: 1000 },
    'sliding on the clock': { limit: 8, window: 700, anchor: 'clock' },
    'without rounding': { limit: 7, window: 900, round: 'none' },
    'without rounding, on the clock': { limit: 6, window: 800, anchor: 'clock', round: 'none' },
  },
  translation: {
    algorithms: ['sliding-window'],
    file: 'sliding-window/sliding-window.lua',
    define: 'defineSlidingWindow',
    shortWay: 'slidingWindowShortWay',
    plpgsql: 'sliding-window/sliding-window.plpgsql',
    parameters: ['limit', 'windowMs', 'isOnClock', 'roundsDown', 'mostUsed'],
  },
})
