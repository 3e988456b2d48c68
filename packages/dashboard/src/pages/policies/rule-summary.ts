// A policy's rule in a few words, for a list.

import { findRuleFacts } from 'sluice/rules'
import type { PolicyRule } from '../../api/answers.ts'

export function ruleSummary(rule: PolicyRule): string {
  if (typeof rule === 'string') return rule
  const { algorithm, ...options } = rule
  return findRuleFacts(String(algorithm))?.inWords(options as never) ?? String(algorithm)
}
