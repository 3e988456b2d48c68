// `sluice policies import --from envoy` against a real service.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { runProgram } from '../src/cli/program.ts'
import { RlsClient, rlsAddress } from './rls-client.ts'
import { startService, type TestService } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { writtenTo } from './written-to.ts'

const FILE = `
domain: edge
descriptors:
  - key: plan
    value: free
    quota_mode: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
  - key: plan
    value: none
    rate_limit: { unit: minute, requests_per_unit: 0 }
`

async function sluice(service: TestService, ...args: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()].map((stream) => Object.assign(stream, { isTTY: false }))
  const env = { SLUICE_URL: service.address, SLUICE_API_KEY: service.key }
  const code = await runProgram(args, { stdin: Readable.from([FILE]), stdout, stderr, env, exitCode: 0 })
  return { code, stdout: writtenTo(stdout), stderr: writtenTo(stderr) }
}

function file(name: string, content: string): string {
  const path = join(temporaryFolder(), name)
  writeFileSync(path, content)
  return path
}

const DIFFERENCE = 'descriptors[0]: quota_mode has no effect: the limit denies by itself'

test('several files are imported at once, with a report of what differs', async () => {
  const service = await startService({ flags: { rls: '127.0.0.1:0' } })
  const paths = [
    file('edge.yaml', FILE),
    file('other.yaml', 'domain: other\ndescriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 5 } }]'),
  ]
  const answer = await sluice(service, 'policies', 'import', '--from', 'envoy', ...paths)
  expect(answer).toEqual({ code: 0, stdout: '3 policies imported\n', stderr: `${paths[0]}: ${DIFFERENCE}\n` })
  const rls = new RlsClient(rlsAddress(service), { 'x-api-key': service.key })
  expect((await rls.hit({ plan: 'free' })).statuses).toMatchObject([{ code: 1, limit_remaining: 0 }])
  expect((await rls.hit({ plan: 'free' })).statuses).toMatchObject([{ code: 2, limit_remaining: 0 }])
  expect((await rls.hit({ plan: 'none' })).statuses).toMatchObject([{ code: 2, current_limit: { requests_per_unit: 0 } }])
  expect((await rls.hit({ plan: 'paid' })).statuses).toMatchObject([{ code: 1, current_limit: null }])
  expect((await rls.hit({ a: 'x' }, 'other')).statuses).toMatchObject([{ current_limit: { requests_per_unit: 5, unit: 4 } }])
})

test('a dry run prints the policies in the form of the configuration file, and changes nothing', async () => {
  const service = await startService()
  const { code, stdout, stderr } = await sluice(service, 'policies', 'import', '--from', 'envoy', '--dry-run', '-')
  expect({ code, stderr }).toEqual({ code: 0, stderr: `-: ${DIFFERENCE}\n` })
  expect(parse(stdout).policies.map(({ name }: { name: string }) => name)).toEqual(['edge.plan_free', 'edge.plan_none'])
  expect((await service.call('GET', '/v1/policies')).body.data.policies).toHaveLength(1)
  const json = await sluice(service, 'policies', 'import', '--from', 'envoy', '--dry-run', '--json', '-')
  expect(JSON.parse(json.stdout)).toMatchObject({
    policies: [{ route: 'edge|plan' }, {}],
    differences: [{ at: 'descriptors[0]' }],
  })
})

test('a file with an unknown key imports nothing', async () => {
  const service = await startService()
  const paths = [file('good.yaml', FILE), file('bad.yaml', 'domain: other\ndescriptors: [{ key: a, rate_limits: {} }]')]
  const { code, stderr } = await sluice(service, 'policies', 'import', '--from', 'envoy', ...paths)
  expect(code).not.toBe(0)
  expect(stderr).toContain('rate_limits')
  expect((await service.call('GET', '/v1/policies')).body.data.policies).toHaveLength(1)
})
