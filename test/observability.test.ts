// The scrape configuration, alerts and board in deploy name metrics and labels that the service has, in expressions that Prometheus takes.

import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { OUTCOMES, REASON_NAMES } from '../packages/server/src/stats/policy-stats.ts'
import { startService } from '../packages/server/test/running-service.ts'

interface AlertFile {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
}

interface Board {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[]
}

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

const alerts = (parse(read('deploy/prometheus/alerts.yaml')) as AlertFile).groups.flatMap(({ rules }) => rules)
const panels = (JSON.parse(read('deploy/grafana/sluice.json')) as Board).panels
const expressions = [
  ...alerts.map(({ alert, expr }) => ({ name: alert, expr })),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ name: title, expr }))),
]

/** Names of the metrics, as the reference lists them. */
const documented = [...read('docs/reference/service.md').matchAll(/^\| `(sluice_\w+)`/gm)].map(([, name]) => name)

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-prometheus-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function promtool(args: readonly string[], input?: string): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', input })
  return { status, output: stdout + stderr }
}

test('Prometheus takes the metrics of a service', async () => {
  const service = await startService()
  await service.call('POST', '/v1/check', { client_id: 'ada', route: '/' })
  const { status, body } = await service.call('GET', '/metrics')
  expect([status, String(body).includes('sluice_checks_total{')]).toEqual([200, true])
  const { output } = promtool(['check', 'metrics'], body)
  expect(output).toBe('')
})

test('every metric in alerts and board is one that the reference documents', () => {
  expect(documented.length).toBeGreaterThan(25)
  const named = expressions.flatMap(({ name, expr }) =>
    [...expr.matchAll(/\bsluice_\w+/g)].map(([metric]) => ({ name, metric: metric.replace(/_bucket$/, '') })),
  )
  expect(named.length).toBeGreaterThan(30)
  expect(named.filter(({ metric }) => !documented.includes(metric))).toEqual([])
})

test.each([
  ['outcome', OUTCOMES],
  ['reason', REASON_NAMES],
])('values of the label %s exist', (label, values) => {
  const chosen = expressions.flatMap(({ expr }) =>
    [...expr.matchAll(new RegExp(`\\b${label}="(\\w+)"`, 'g'))].map(([, value]) => value),
  )
  expect(chosen.length).toBeGreaterThan(0)
  expect(chosen.filter((value) => !(values as readonly string[]).includes(value))).toEqual([])
})

test('Prometheus takes the configuration, with its alerts', () => {
  const folder = temporaryFolder()
  cpSync(join(root, 'deploy/prometheus'), folder, { recursive: true })
  const key = join(folder, 'key')
  writeFileSync(key, 'a key')
  const file = join(folder, 'prometheus.yaml')
  writeFileSync(file, readFileSync(file, 'utf8').replace(/credentials_file: .+/, `credentials_file: ${key}`))
  const { status, output } = promtool(['check', 'config', file])
  expect({ status, output }).toMatchObject({ status: 0 })
  expect(output).toContain(`${alerts.length} rules found`)
})

test('alerts fire when they should, and not otherwise', () => {
  const { status, output } = promtool(['test', 'rules', join(root, 'deploy/prometheus/alerts.test.yaml')])
  expect({ status, output }).toMatchObject({ status: 0 })
})

test('Prometheus takes every expression of the board', () => {
  const file = join(temporaryFolder(), 'board.yaml')
  const rules = panels
    .flatMap(({ targets }) => targets)
    .map(({ expr }, i) => ({
      record: `board:${i}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
    }))
  writeFileSync(file, stringify({ groups: [{ name: 'board', rules }] }))
  const { status, output } = promtool(['check', 'rules', file])
  expect({ status, output }).toMatchObject({ status: 0 })
})
