// The facts about the fixed window.

import { describeRule } from '../../core/rule-facts.ts'
import { FIXED_WINDOW_OPTIONS, fixedWindow } from './fixed-window.ts'

export const fixedWindowFacts = /* @__PURE__ */ describeRule({
  algorithm: 'fixed-window',
  call: 'fixedWindow',
  make: fixedWindow,
  title: 'Fixed window',
  summary: 'a count that starts anew with each window',
  purpose: 'a simple quota: so many a day',
  worstCase: '2 × `limit` around a boundary, within milliseconds',
  kinds: FIXED_WINDOW_OPTIONS,
  options: {
    limit: { label: 'Limit', help: 'Units that a window lets through.' },
    window: { label: 'Window', help: 'Length of a window.' },
    anchor: {
      label: 'Windows from',
      choices: { 'first-hit': 'first hit', clock: 'clock' },
      help: "Start of the windows: at a key's first hit (default), or at multiples of the window since the epoch.",
    },
    countDenied: {
      label: 'Denied hits count too',
      isRare: true,
      help: 'Denied hits count too, also one that is above the limit by itself and opens the window.',
    },
    elastic: {
      label: 'Every hit restarts the window',
      isRare: true,
      help: 'Every hit, allowed or not, counts and restarts the window. Not with anchor clock.',
      deprecated: 'a denied client that retries never gets through.',
    },
  },
  rate: { units: 'limit', every: 'window' },
  inWords: ({ limit, window }) => `fixed window ${limit} every ${window}`,
  example: { limit: 100, window: '1m' },
  forms: {
    plain: { limit: 5, window: 1000 },
    'on the clock': { limit: 7, window: 900, anchor: 'clock' },
    'counting denied': { limit: 5, window: 1000, countDenied: true },
    'counting denied, on the clock': { limit: 4, window: 700, anchor: 'clock', countDenied: true },
    elastic: { limit: 3, window: 800, elastic: true },
  },
  translation: {
    algorithms: ['fixed-window'],
    file: 'fixed-window/fixed-window.lua',
    define: 'defineFixedWindow',
    shortWay: 'fixedWindowShortWay',
    plpgsql: 'fixed-window/fixed-window.plpgsql',
    parameters: ['limit', 'windowMs', 'isOnClock', 'elastic', 'countsDenied'],
  },
})
