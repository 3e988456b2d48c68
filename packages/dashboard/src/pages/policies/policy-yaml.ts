// A policy as lines of YAML, as in the configuration file. Differences are shown in this form.

import type { PolicyRule, PolicySpec } from '../../api/answers.ts'

/** Fields in the order of the documents. A field without a value has no line. */
const FIELDS = [
  'name',
  'client',
  'route',
  'where',
  'applies',
  'mode',
  'scope',
  'per',
  'expires_at',
  'reason',
  'show_reason',
] as const

export function policyLines(policy: PolicySpec): string[] {
  const head = FIELDS.flatMap((field) => fieldLines(field, policy[field]))
  return policy.rules === undefined ? head : [...head, 'rules:', ...policy.rules.flatMap(ruleLines)]
}

function fieldLines(field: string, value: unknown): string[] {
  if (value === undefined) return []
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${field}: ${scalar(value)}`]
  return [`${field}:`, ...Object.entries(value).map(([name, pattern]) => `  ${name}: ${scalar(pattern)}`)]
}

function ruleLines(rule: PolicyRule): string[] {
  if (typeof rule === 'string') return [`  - ${scalar(rule)}`]
  return Object.entries(rule).map(([key, value], i) => `${i === 0 ? '  - ' : '    '}${key}: ${scalar(value)}`)
}

/** Writes a value without quotes if YAML reads it as the same value, and with quotes otherwise. */
function scalar(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(scalar).join(', ')}]`
  if (typeof value !== 'string') return String(value)
  const isPlain = /^[A-Za-z/][A-Za-z0-9/._-]*$/.test(value) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value)
  return isPlain || /^\d+(ms|s|m|h|d)$/.test(value) ? value : JSON.stringify(value)
}
