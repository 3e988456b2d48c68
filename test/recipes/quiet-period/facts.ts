// The facts about the quiet period.

import { describeRule } from '../../core/rule-facts.ts'
import { QUIET_PERIOD_OPTIONS, quietPeriod } from './quiet-period.ts'

export const quietPeriodFacts = /* @__PURE__ */ describeRule({
  algorithm: 'quiet-period',
  call: 'quietPeriod',
  make: quietPeriod,
  title: 'Quiet period',
  summary: 'a count that ends with a pause',
  purpose: 'so many tries, and then silence',
  worstCase: '`limit`',
  kinds: QUIET_PERIOD_OPTIONS,
  options: {
    limit: { label: 'Limit', help: 'Units that pass until the key is quiet.' },
    pause: { label: 'Pause', help: 'Time without hits after which all units are back.' },
    from: {
      label: 'Pause counts from',
      choices: { 'last-hit': 'the last hit', 'first-hit': 'the first hit' },
      help: 'Start of the pause: at the last hit that passed (default), or at the first.',
    },
  },
  rate: { units: 'limit', every: 'pause' },
  inWords: ({ limit, pause }) => `${limit} until quiet for ${pause}`,
  example: { limit: 3, pause: '1m' },
  forms: {
    plain: { limit: 5, pause: 1100 },
    'quiet-period from the first hit': { limit: 4, pause: 900, from: 'first-hit' },
  },
  translation: {
    algorithms: ['quiet-period'],
    file: 'quiet-period/quiet-period.lua',
    define: 'defineQuietPeriod',
    parameters: ['limit', 'windowMs', 'restarts'],
  },
})
