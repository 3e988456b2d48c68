// The texts that the playground offers to copy work: the command in a shell and the file as a configuration, on a real service.

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { loadConfig } from 'sluice-server'
import { expect, onTestFinished, test } from 'vitest'
import { ALGORITHM_NAMES } from '../src/rules/algorithm-forms.ts'
import { newRule, readRule } from '../src/rules/rule-form.ts'
import { asCurl, asYaml } from '../src/rules/rule-text.ts'
import { startLiveService } from './live-service.ts'

const SPECS = ALGORITHM_NAMES.map((name) => readRule(newRule(name)).spec)

test('the curl command puts the policy into a running service', async () => {
  const service = await startLiveService()
  onTestFinished(() => service.stop())
  for (const spec of SPECS) {
    const env = { ...process.env, SLUICE_API_KEY: service.key }
    const { stdout } = await promisify(execFile)('sh', ['-c', asCurl(spec, service.address)], { env })
    expect(JSON.parse(stdout).meta).toMatchObject({ status: 'ok' })
    const { route, rules } = await service.call('GET', '/v1/policies/orders')
    expect({ route, rules }).toEqual({ route: '/orders', rules: [{ algorithm: spec.algorithm, ...spec.options }] })
  }
})

test('the YAML is a configuration file that the service reads', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-yaml-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const spec of SPECS) {
    const config = join(folder, `${spec.algorithm}.yaml`)
    writeFileSync(config, asYaml(spec))
    const { file } = await loadConfig({ flags: { config } })
    expect(file?.policies.map(({ name, route }) => ({ name, route }))).toEqual([{ name: 'orders', route: '/orders' }])
  }
})
