// The facts about concurrency.

import { describeRule } from '../../core/rule-facts.ts'
import { CONCURRENCY_OPTIONS, concurrency } from './concurrency.ts'

export const concurrencyFacts = /* @__PURE__ */ describeRule({
  algorithm: 'concurrency',
  call: 'concurrency',
  make: concurrency,
  title: 'Concurrency',
  summary: 'a number of places that are held and given back',
  purpose: 'at most so many at once, whatever they do',
  worstCase: '`limit` at once',
  kinds: CONCURRENCY_OPTIONS,
  options: {
    limit: { label: 'Limit', help: 'Places that can be held at once.' },
    ttl: { label: 'Time to live', help: 'Time after which a place is free again if nobody gives it back.' },
  },
  rate: { units: 'limit', every: 'ttl' },
  inWords: ({ limit, ttl }) => `${limit} at once, for ${ttl} each`,
  example: { limit: 10, ttl: '30s' },
  forms: {
    plain: { limit: 6, ttl: 1300 },
  },
  translation: {
    algorithms: ['concurrency'],
    file: 'concurrency/concurrency.lua',
    define: 'defineConcurrency',
    plpgsql: 'concurrency/concurrency.plpgsql',
    parameters: ['limit'],
  },
})
