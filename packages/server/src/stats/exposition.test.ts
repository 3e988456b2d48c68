import { expect, test } from 'vitest'
import { Exposition } from './exposition.ts'
import { Histogram } from './histogram.ts'

test('counters, gauges and labels', () => {
  const text = new Exposition()
    .counter('checks_total', 'Checks.', [
      [{ policy: 'default', outcome: 'allow' }, 3],
      [{ policy: 'a"b\\c\nd', outcome: 'deny' }, 0],
    ])
    .gauge('store_up', 'Up.', 1)
    .text()
  expect(text).toBe(
    [
      '# HELP sluice_checks_total Checks.',
      '# TYPE sluice_checks_total counter',
      'sluice_checks_total{policy="default",outcome="allow"} 3',
      'sluice_checks_total{policy="a\\"b\\\\c\\nd",outcome="deny"} 0',
      '# HELP sluice_store_up Up.',
      '# TYPE sluice_store_up gauge',
      'sluice_store_up 1',
      '',
    ].join('\n'),
  )
})

test('the buckets of a histogram are cumulative, and a bound belongs to its bucket', () => {
  const histogram = new Histogram([0.5, 1])
  for (const value of [0.1, 0.5, 0.75, 2]) histogram.observe(value)
  const lines = new Exposition()
    .histogram('ratio', 'A ratio.', [[{ op: 'hit' }, histogram]])
    .text()
    .split('\n')
  expect(lines.slice(2, -1)).toEqual([
    'sluice_ratio_bucket{op="hit",le="0.5"} 2',
    'sluice_ratio_bucket{op="hit",le="1"} 3',
    'sluice_ratio_bucket{op="hit",le="+Inf"} 4',
    'sluice_ratio_sum{op="hit"} 3.35',
    'sluice_ratio_count{op="hit"} 4',
  ])
})
