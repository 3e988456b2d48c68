// The facts about the token bucket.

import { describeRule } from '../../core/rule-facts.ts'
import { meterTranslation } from '../meter/facts.ts'
import { TOKEN_BUCKET_OPTIONS, tokenBucket } from './token-bucket.ts'

export const tokenBucketFacts = /* @__PURE__ */ describeRule({
  algorithm: 'token-bucket',
  call: 'tokenBucket',
  make: tokenBucket,
  title: 'Token bucket',
  summary: 'bursts, then a steady rate; smooth or in steps',
  purpose: 'bursts welcome, the long run bounded',
  worstCase: '`capacity` + `refill` − 1 in one `every`',
  kinds: TOKEN_BUCKET_OPTIONS,
  options: {
    capacity: { label: 'Capacity', help: 'Tokens that the bucket holds: the largest burst.' },
    refill: { label: 'Refill', help: 'Tokens that come back in each period.' },
    every: { label: 'Every', help: 'Length of the period in which the refill comes back.' },
    style: {
      label: 'Tokens come back',
      choices: { smooth: 'a little every millisecond', stepped: 'all at once' },
      isRare: true,
      help:
        'Tokens come back a little every millisecond (default), or the whole refill at the end of each period, ' +
        'counted from the hit that took the first token of a full bucket.',
    },
  },
  rate: { units: 'refill', every: 'every', burst: 'capacity' },
  inWords: ({ capacity, refill, every }) => `token bucket of ${capacity}, ${refill} every ${every}`,
  example: { capacity: 20, refill: 10, every: '1s' },
  forms: {
    plain: { capacity: 10, refill: 7, every: 1000 },
    stepped: { capacity: 9, refill: 4, every: 300, style: 'stepped' },
  },
  translation: meterTranslation,
})
