// A policy as lines of YAML, as in the configuration file. Differences are shown in this form.

import type { PolicyRule, PolicySpec } from '../../api/answers.ts'

export function policyLines({ name, client, route, mode, scope, rules }: PolicySpec): string[] {
  const head = { name, client, route, mode, scope }
  return [...Object.entries(head).map(([key, value]) => `${key}: ${scalar(value)}`), 'rules:', ...rules.flatMap(ruleLines)]
}

function ruleLines(rule: PolicyRule): string[] {
  if (typeof rule === 'string') return [`  - ${scalar(rule)}`]
  return Object.entries(rule).map(([key, value], i) => `${i === 0 ? '  - ' : '    '}${key}: ${scalar(value)}`)
}

/** Writes a value without quotes if YAML reads it as the same value, and with quotes otherwise. */
function scalar(value: unknown): string {
  if (typeof value !== 'string') return String(value)
  const isPlain = /^[A-Za-z/][A-Za-z0-9/._-]*$/.test(value) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value)
  return isPlain || /^\d+(ms|s|m|h|d)$/.test(value) ? value : JSON.stringify(value)
}
