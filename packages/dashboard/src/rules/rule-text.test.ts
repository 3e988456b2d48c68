import { createLimiter, holds } from 'sluice'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { ALGORITHM_NAMES, ALGORITHMS } from './algorithm-forms.ts'
import { newRule, readRule } from './rule-form.ts'
import { asCurl, asTypeScript, asYaml } from './rule-text.ts'

const RULES = [
  ...ALGORITHM_NAMES.map((name) => newRule(name)),
  newRule('fixed-window', { anchor: 'clock', countDenied: 'yes' }),
  newRule('calendar-window', { startsOn: '09:00', timeZone: 'Etc/GMT+5' }),
  newRule('calendar-window', { every: 'week', startsOn: 'sunday 09:00', timeZone: 'Europe/Berlin' }),
  newRule('calendar-window', { every: 'month', startsOn: '15' }),
  newRule('calendar-window', { every: 'month', startsOn: '15 09:00' }),
  newRule('calendar-window', { every: 'year', startsOn: '04-06' }),
]

test.each(RULES)('$algorithm as TypeScript is a program that makes the same rule', async (draft) => {
  const { spec, rule } = readRule(draft)
  const [imports, ...body] = asTypeScript(spec).split('\n')
  const names = /^import { (.*) } from 'sluice'$/.exec(imports)?.[1].split(', ') ?? []
  let hasWorked = false
  const doTheWork = () => {
    hasWorked = true
  }
  const program = `return (async () => {${body.join('\n')}\nreturn [limiter.rules[0], typeof decision === 'object' && decision.allowed]})()`
  const run = new Function('doTheWork', ...names, program)
  const { call, make } = ALGORITHMS[spec.algorithm]
  const known: Record<string, unknown> = { createLimiter, holds, [call]: make }
  const [made, isAllowed] = await run(doTheWork, ...names.map((name) => known[name]))
  expect(made.name).toBe(rule?.name)
  expect(made.parameters).toEqual(rule?.parameters)
  expect(isAllowed || hasWorked).toBe(true)
})

test.each(RULES)('$algorithm as YAML is a policy with the same rule', (draft) => {
  const { spec } = readRule(draft)
  expect(parse(asYaml(spec))).toEqual({
    policies: [{ name: 'orders', route: '/orders', rules: { algorithm: spec.algorithm, ...spec.options } }],
  })
})

test.each(RULES)('$algorithm as a curl command has the same policy in its body', (draft) => {
  const { spec } = readRule(draft)
  const command = asCurl(spec, 'http://127.0.0.1:8080')
  expect(command).toMatch(/^curl -X PUT http:\/\/127\.0\.0\.1:8080\/v1\/policies\/orders /)
  const body = /-d '(.*)'/.exec(command)?.[1] ?? ''
  expect(JSON.parse(body)).toEqual({ route: '/orders', rules: { algorithm: spec.algorithm, ...spec.options } })
})
