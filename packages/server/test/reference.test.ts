// The reference of the service equals the code.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SERVER_ERROR_CODES } from '../src/errors.ts'
import { startService } from './running-service.ts'

const reference = readFileSync(new URL('../../../docs/reference/service.md', import.meta.url), 'utf8')
const description = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'))

test('the page of the entry point has every name that the entry point exports', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
  const page = read('../../../docs/reference/sluice-server.md')
  const exported = [...read('../src/index.ts').matchAll(/\{([^}]+)\}/g)].flatMap(([, names]) => names.match(/\w+/g) ?? [])
  const names = exported.filter((name) => name !== 'type')
  expect(names.length).toBeGreaterThan(10)
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(page))).toEqual([])
})

test('it has every error code, with its status and meaning', () => {
  const rows = [...reference.matchAll(/^\| `(ERR_\w+)` +\| (\d+) +\| (.*?) +\|$/gm)]
  const written = Object.fromEntries(rows.map(([, code, status, meaning]) => [code, { status: Number(status), meaning }]))
  expect(written).toEqual(SERVER_ERROR_CODES)
})

test('it has every endpoint, with the scope that it needs', () => {
  const rows = [...reference.matchAll(/^\| (`(?:GET|POST|PUT|DELETE) .*?) +\| .* \| +(?:`(\w+)`)? *\|$/gm)]
  const written = rows.flatMap(([, endpoints, scope = 'none']) =>
    [...endpoints.matchAll(/`((?:GET|POST|PUT|DELETE) [^`]+)`/g)].map(([, endpoint]) => `${endpoint} ${scope}`),
  )
  const described = Object.entries<Record<string, { description: string }>>(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const scope = /Needs a key with the scope `(\w+)`/.exec(operation.description ?? '')?.[1] ?? 'none'
      return `${method.toUpperCase()} ${path} ${scope}`
    }),
  )
  expect(written.sort()).toEqual(described.sort())
})

test('it has every metric, and no other', async () => {
  const { call } = await startService()
  const { body } = await call('GET', '/metrics')
  const served = [...(body as string).matchAll(/^# HELP (\w+) (.*)$/gm)].map(([, name, help]) => `${name}: ${help}`)
  const written = [...reference.matchAll(/^\| `(sluice_\w+)` +\| (.*?) +\|$/gm)].map(([, name, says]) => `${name}: ${says}`)
  for (const metric of served) expect(written).toContain(metric)
  const elsewhere = [
    'sluice_config_last_reload_timestamp_seconds',
    'sluice_config_last_reload_success',
    'sluice_store_operation_duration_seconds',
  ]
  expect(
    written
      .filter((metric) => !served.includes(metric))
      .map((metric) => metric.split(':')[0])
      .sort(),
  ).toEqual(elsewhere.sort())
})
