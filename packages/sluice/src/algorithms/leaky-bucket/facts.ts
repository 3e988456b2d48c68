// The facts about the leaky bucket.

import { describeRule } from '../../core/rule-facts.ts'
import { meterTranslation } from '../meter/facts.ts'
import { LEAKY_BUCKET_OPTIONS, leakyBucket } from './leaky-bucket.ts'

export const leakyBucketFacts = /* @__PURE__ */ describeRule({
  algorithm: 'leaky-bucket',
  call: 'leakyBucket',
  make: leakyBucket,
  title: 'Leaky bucket',
  summary: 'the same meter, seen as a bucket that leaks',
  purpose: 'to fill a queue that drains steadily',
  worstCase: '`capacity` + `leak` − 1 in one `every`',
  kinds: LEAKY_BUCKET_OPTIONS,
  options: {
    capacity: { label: 'Capacity', help: 'Units that the bucket holds before it overflows.' },
    leak: { label: 'Leak', help: 'Units that leak out in each period.' },
    every: { label: 'Every', help: 'Length of the period in which the leak runs out.' },
  },
  rate: { units: 'leak', every: 'every', burst: 'capacity' },
  inWords: ({ capacity, leak, every }) => `leaky bucket of ${capacity}, ${leak} every ${every}`,
  example: { capacity: 20, leak: 10, every: '1s' },
  forms: {
    plain: { capacity: 6, leak: 11, every: 1700 },
  },
  translation: meterTranslation,
})
