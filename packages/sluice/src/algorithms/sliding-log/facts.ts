// The facts about the sliding log.

import { describeRule } from '../../core/rule-facts.ts'
import { SLIDING_LOG_OPTIONS, slidingLog } from './sliding-log.ts'

export const slidingLogFacts = /* @__PURE__ */ describeRule({
  algorithm: 'sliding-log',
  call: 'slidingLog',
  make: slidingLog,
  title: 'Sliding log',
  summary: 'the exact moving window',
  purpose: 'never more than the limit, whatever happens',
  worstCase: '`limit`',
  kinds: SLIDING_LOG_OPTIONS,
  options: {
    limit: { label: 'Limit', help: 'Units that any window lets through.' },
    window: { label: 'Window', help: 'Time that the log looks back.' },
  },
  rate: { units: 'limit', every: 'window' },
  inWords: ({ limit, window }) => `sliding log ${limit} every ${window}`,
  example: { limit: 100, window: '1m' },
  forms: {
    plain: { limit: 6, window: 1000 },
  },
  translation: {
    algorithms: ['sliding-log'],
    file: 'sliding-log/sliding-log.lua',
    define: 'defineSlidingLog',
    plpgsql: 'sliding-log/sliding-log.plpgsql',
    parameters: ['limit', 'windowMs'],
  },
})
