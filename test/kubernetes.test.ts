// The Kubernetes files in deploy follow their schemas, and name flags, variables, paths and users that exist.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { Service } from 'kubernetes-models/v1/Service'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { readDelay } from '../packages/server/src/config/delay.ts'
import { flags, OPTION_NAMES, variableOf } from '../packages/server/src/config/options.ts'

const deploy = fileURLToPath(new URL('../deploy', import.meta.url))
const KINDS = { Deployment, Service, PodDisruptionBudget }
type Kind = keyof typeof KINDS

// biome-ignore lint/suspicious/noExplicitAny: the files are checked against their schemas
const files: Record<string, any> = Object.fromEntries(
  readdirSync(join(deploy, 'kubernetes')).map((name) => [name, parse(readFileSync(join(deploy, 'kubernetes', name), 'utf8'))]),
)
const deployment = files['deployment.yaml']
const [container] = deployment.spec.template.spec.containers

test.each(Object.entries(files))('%s follows its schema', (_name, file) => {
  const kind = KINDS[file.kind as Kind]
  const model = new kind(file)
  expect({ apiVersion: model.apiVersion, kind: model.kind }).toEqual({ apiVersion: file.apiVersion, kind: file.kind })
  expect(() => model.validate()).not.toThrow()
})

test('a field that no schema has is found', () => {
  const wrong = structuredClone(deployment)
  wrong.spec.template.spec.containers[0].readinessProbe.httpGet = { path: '/readyz' }
  expect(() => new Deployment(wrong).validate()).toThrow(/port/)
})

test('all objects select the same instances', () => {
  const labels = deployment.spec.template.metadata.labels
  expect(deployment.spec.selector.matchLabels).toEqual(labels)
  expect(files['service.yaml'].spec.selector).toEqual(labels)
  expect(files['pod-disruption-budget.yaml'].spec.selector.matchLabels).toEqual(labels)
  expect(files['pod-disruption-budget.yaml'].spec.minAvailable).toBeLessThan(deployment.spec.replicas)
})

test('flags and variables exist, and the user is that of the image', () => {
  const known = flags().map(({ usage }) => usage.split(' ')[0])
  expect(container.args.filter((word: string) => word.startsWith('--') && !known.includes(word))).toEqual([])
  const variables = OPTION_NAMES.map(variableOf)
  expect(container.env.filter(({ name }: { name: string }) => !variables.includes(name))).toEqual([])
  const { runAsUser, runAsGroup } = deployment.spec.template.spec.securityContext
  expect(readFileSync(join(deploy, 'Containerfile'), 'utf8')).toContain(`USER ${runAsUser}:${runAsGroup}\n`)
})

test('a stop has the time that the service takes for it', () => {
  const delayMs = readDelay(container.args[container.args.indexOf('--drain-delay') + 1]) as number
  expect(deployment.spec.template.spec.terminationGracePeriodSeconds * 1000).toBeGreaterThanOrEqual(delayMs + 20_000)
})
