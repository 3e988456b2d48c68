import { createLimiter } from 'sluice'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { ALGORITHM_NAMES, ALGORITHMS } from './algorithm-forms.ts'
import { newRule, readRule } from './rule-form.ts'
import { asCurl, asTypeScript, asYaml } from './rule-text.ts'

const RULES = [...ALGORITHM_NAMES.map((name) => newRule(name)), newRule('fixed-window', { anchor: 'clock', countDenied: 'yes' })]

test.each(RULES)('$algorithm as TypeScript is a program that makes the same rule', (draft) => {
  const { spec, rule } = readRule(draft)
  const [imports, ...body] = asTypeScript(spec).split('\n')
  const names = /^import { (.*) } from 'sluice'$/.exec(imports)?.[1].split(', ') ?? []
  const run = new Function(...names, `${body.join('\n')}\nreturn [limiter.rules[0], decision]`)
  const { call, make } = ALGORITHMS[spec.algorithm]
  const known: Record<string, unknown> = { createLimiter, [call]: make }
  const [made, decision] = run(...names.map((name) => known[name]))
  expect(made.name).toBe(rule?.name)
  expect(made.parameters).toEqual(rule?.parameters)
  expect(decision.allowed).toBe(true)
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
