// A policy's rule in a few words, for a list.

import type { PolicyRule } from '../../api/answers.ts'

export function ruleSummary(rule: PolicyRule): string {
  if (typeof rule === 'string') return rule
  const { algorithm, limit, window, capacity, refill, leak, every, period, burst } = rule
  switch (algorithm) {
    case 'token-bucket':
      return `token bucket of ${capacity}, ${refill} every ${every}`
    case 'leaky-bucket':
      return `leaky bucket of ${capacity}, ${leak} every ${every}`
    case 'gcra':
      return `GCRA ${limit} every ${period}${burst === undefined ? '' : `, burst ${burst}`}`
    default:
      return `${String(algorithm).replace('-', ' ')} ${limit} every ${window}`
  }
}
