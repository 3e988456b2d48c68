// Cells that no rule has written, for tests of every store that keeps cells.

import { fixedWindow, gcra, type Rule, slidingWindow, tokenBucket } from '../src/index.ts'

/** A rule of each algorithm without a log, by a name for tests. */
export const RULES_OF_CELLS: Readonly<Record<string, Rule>> = {
  'a fixed window': fixedWindow({ limit: 5, window: '1h' }),
  'a fixed window on the clock': fixedWindow({ limit: 5, window: '1h', anchor: 'clock' }),
  'a sliding window': slidingWindow({ limit: 5, window: '1h' }),
  'a token bucket': tokenBucket({ capacity: 5, refill: 1, every: '1h' }),
  'a token bucket whose rate takes two cells': tokenBucket({ capacity: 5, refill: 1_000_003, every: '3650d' }),
  'a bucket that is filled in steps': tokenBucket({ capacity: 5, refill: 1, every: '1h', style: 'stepped' }),
  'a bucket that is filled in steps, whose rate takes two cells': tokenBucket({
    capacity: 5,
    refill: 1_000_003,
    every: '3650d',
    style: 'stepped',
  }),
  gcra: gcra({ limit: 5, period: '1h' }),
}

export const BAD_NUMBERS: readonly number[] = [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  -1,
  0.5,
  2 ** 53,
  1e300,
]

const window = slidingWindow({ limit: 5, window: '1h' })
const meter = gcra({ limit: 5, period: '1h' })
const stepped = RULES_OF_CELLS['a bucket that is filled in steps']
const wide = RULES_OF_CELLS['a token bucket whose rate takes two cells']
const wideStepped = RULES_OF_CELLS['a bucket that is filled in steps, whose rate takes two cells']

/** Whole numbers that do not belong together. */
export const ODD_CELLS: readonly (readonly [what: string, rule: Rule, cells: readonly number[]])[] = [
  ['a sliding window without length', window, [5, 5, 1, 0]],
  ['a sliding window that ends before it starts', window, [5, 50, 1, 0]],
  ['a sliding window with half a millisecond', window, [2e12, 1e12 + 1, 1, 0]],
  ['a sliding window with a count beyond its most', window, [2e12, 1e12, 1e15, 0]],
  ['a meter without a rate', meter, [2e12, 720_000, 0]],
  ['a meter whose rate has no pace', meter, [2e12, 720_000, 7 * 64 + 3]],
  ['a meter whose rate is shorter than it says', meter, [2e12, 720_000, 720_000 * 64 + 63]],
  ['a meter without debt', meter, [2e12, 0, 720_000 * 64]],
  ['a meter whose debt began before time', meter, [2e12, 9e15, 720_000 * 64]],
  ['a stepped meter without a rate', stepped, [2e12, 5, 0]],
  ['a stepped meter without debt', stepped, [2e12, 0, 3_600_000 * 64]],
  ['a stepped meter whose debt began before time', stepped, [2e12, 5_000_000, 3_600_000 * 64]],
  ['a stepped meter with more debt than time has', stepped, [2e12, 9e15, 3_600_000 * 64]],
  ['a wide meter without pace', wide, [2e12, 720_000, 0, 1]],
  ['a wide meter without drain', wide, [2e12, 720_000, 720_000, 0]],
  ['a wide meter without debt', wide, [2e12, 0, 720_000, 1]],
  ['a wide meter whose debt began before time', wide, [2e12, 9e15, 720_000, 1]],
  ['a wide stepped meter without pace', wideStepped, [2e12, 5, 0, 1]],
  ['a wide stepped meter without drain', wideStepped, [2e12, 5, 720_000, 0]],
  ['a wide stepped meter whose debt began before time', wideStepped, [2e12, 5_000_000, 720_000, 1]],
]
