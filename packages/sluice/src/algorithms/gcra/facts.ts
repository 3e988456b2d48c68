// The facts about GCRA.

import { describeRule } from '../../core/rule-facts.ts'
import { meterTranslation } from '../meter/facts.ts'
import { GCRA_OPTIONS, gcra } from './gcra.ts'

export const gcraFacts = /* @__PURE__ */ describeRule({
  algorithm: 'gcra',
  call: 'gcra',
  make: gcra,
  title: 'GCRA',
  summary: 'the same meter in the words of the generic cell rate algorithm',
  purpose: 'evenly spaced hits with a small burst',
  worstCase: '`burst` + `limit` − 1 in one `period`',
  kinds: GCRA_OPTIONS,
  options: {
    limit: { label: 'Limit', help: 'Units that a period lets through in the long run.' },
    period: { label: 'Period', help: 'Length of a period.' },
    burst: { label: 'Burst', start: 1, help: 'Units that may come at once. As many as the limit by default.' },
  },
  rate: { units: 'limit', every: 'period', burst: 'burst' },
  inWords: ({ limit, period, burst }) => `GCRA ${limit} every ${period}${burst === undefined ? '' : `, burst ${burst}`}`,
  example: { limit: 10, period: '1s', burst: 20 },
  forms: {
    plain: { limit: 3, period: 1000, burst: 5 },
  },
  translation: meterTranslation,
})
