// Attributes, layers and blocks over HTTP and from the command line.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { runProgram } from '../src/cli/program.ts'
import { advance, START, startService, type TestService } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { writtenTo } from './written-to.ts'

const at = (ms: number): string => new Date(START + ms).toISOString()
const ADA = { client_id: 'ada', route: '/a', attributes: { plan: 'free', org: 'acme' } }

async function sluice(service: TestService, ...args: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const env = { SLUICE_URL: service.address, SLUICE_API_KEY: service.key }
  const code = await runProgram(args, { stdin: Readable.from(['']), stdout, stderr, env, exitCode: 0 })
  return { code, stdout: writtenTo(stdout), stderr: writtenTo(stderr) }
}

describe('attributes', () => {
  test('choose the policy, in single checks, batches, reserves and changes of counters', async () => {
    const { call } = await startService()
    await call('PUT', '/v1/policies/free', { where: { plan: 'f*' }, scope: 'policy', rules: '9/hour' })
    const post = async (path: string, body: object) => (await call('POST', path, body)).body.data
    expect(await post('/v1/check', ADA)).toMatchObject({ policy: 'free', limit: 9, remain: 8 })
    expect(await post('/v1/check', { client_id: 'ada', route: '/a' })).toMatchObject({ policy: 'default' })
    const { results } = await post('/v1/check/batch', { checks: [ADA, { ...ADA, attributes: {} }, { ...ADA, cost: 9 }] })
    expect(results).toMatchObject([
      { policy: 'free', remain: 7 },
      { policy: 'default' },
      { status: 'Deny', policy: 'free', retry_after_ms: 3_600_000 },
    ])
    const { token, ...reserved } = await post('/v1/reserve', { ...ADA, hold: 3 })
    expect(reserved).toMatchObject({ policy: 'free', remain: 4 })
    expect(await post('/v1/settle', { token, used: 1 })).toMatchObject({ policy: 'free', used: { 'rule-1': 1 } })
    expect(await post('/v1/refund', { ...ADA, cost: 1 })).toMatchObject({ policy: 'free', used: 2 })
    expect(await post('/v1/set', { ...ADA, used: 5 })).toMatchObject({ policy: 'free', used: 5 })
    const query = `client_id=ada&route=/a&attributes=${encodeURIComponent('{"plan":"free"}')}`
    expect((await call('GET', `/v1/usage?${query}`)).body.data).toMatchObject({
      policy: 'free',
      rules: [{ name: 'rule-1', policy: 'free', used: 5 }],
    })
    expect(await post('/v1/reset', ADA)).toMatchObject({ policy: 'free', used: 0 })
  })

  const many = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`a${i}`, 'x']))
  test.each<[unknown, string]>([
    ['free', 'attributes must be an object of up to 16 texts by name, got "free"'],
    [{ Plan: 'free' }, 'a name in attributes must be a name of up to 64 characters'],
    [{ client: 'x' }, 'a name in attributes must be a name of up to 64 characters'],
    [{ route: 'x' }, 'a name in attributes must be a name of up to 64 characters'],
    [{ ['a'.repeat(65)]: 'x' }, 'a name in attributes must be a name of up to 64 characters'],
    [{ plan: 5 }, 'attributes.plan must be text of up to 256 characters, got 5'],
    [{ plan: 'x'.repeat(257) }, 'attributes.plan must be text of up to 256 characters'],
    [many, 'attributes must have 16 members at most, and has 17'],
  ])('%j is refused by both ways, and counts nothing', async (attributes, message) => {
    const [fast, slow] = [await startService(), await startService({ flags: { fastChecks: 'false' } })]
    const bodies = []
    for (const { call } of [fast, slow]) {
      const { status, body } = await call('POST', '/v1/check', { client_id: 'ada', route: '/a', attributes })
      expect([status, body.meta.error]).toEqual([400, 'ERR_INPUT'])
      expect(body.meta.message).toContain(message)
      expect((await call('POST', '/v1/check', { client_id: 'ada', route: '/a' })).body.data.remain).toBe(99)
      bodies.push(body)
    }
    expect(bodies[0]).toEqual(bodies[1])
    const written = encodeURIComponent(JSON.stringify(attributes))
    const usage = await fast.call('GET', `/v1/usage?client_id=ada&route=/a&attributes=${written}`)
    expect([usage.status, usage.body.meta.error]).toEqual([400, 'ERR_INPUT'])
  })

  test('in a query that are not JSON are refused', async () => {
    const { call } = await startService()
    const { status, body } = await call('GET', '/v1/usage?client_id=ada&route=/a&attributes=plan')
    expect([status, body.meta.message]).toEqual([400, 'the query: attributes must be an object in JSON, got "plan"'])
    const half = await call('GET', `/v1/usage?client_id=ada&route=/a&attributes=${encodeURIComponent('{"plan":"\\ud800"}')}`)
    expect([half.status, half.body.meta.message]).toEqual([400, 'the query: attributes has half a character: \\ud800 to \\udfff'])
  })

  test('are decided alike by both ways, with layers, reasons and blocks', async () => {
    const policies = {
      org: { applies: 'always', per: 'org', rules: '2/hour' },
      seen: { applies: 'always', per: [], rules: '1/hour', mode: 'shadow' },
      no: { where: { plan: 'none' }, mode: 'deny', reason: 'no “plan”', show_reason: true, expires_at: at(90_000) },
    }
    const answers = []
    for (const fastChecks of ['true', 'false']) {
      const { call } = await startService({ flags: { fastChecks } })
      for (const [name, spec] of Object.entries(policies)) await call('PUT', `/v1/policies/${name}`, spec)
      const got = []
      for (const attributes of [{ org: 'a' }, { org: 'a' }, { org: 'a' }, {}, { plan: 'none' }]) {
        const { body, headers } = await call('POST', '/v1/check', { client_id: 'ada', route: '/a', attributes })
        const fields = ['ratelimit', 'ratelimit-policy', 'retry-after', 'content-length']
        got.push({ body, headers: fields.map((field) => headers.get(field)) })
      }
      answers.push(got)
    }
    expect(answers[0]).toEqual(answers[1])
    expect(answers[0].map(({ body }) => body.data)).toMatchObject([
      { status: 'Allow', policy: 'org', rule: 'org/rule-1', remain: 1 },
      { status: 'Allow', policy: 'org', remain: 0, shadow_denied: true },
      { status: 'Deny', policy: 'org', retry_after_ms: 3_600_000, retryable: true },
      { status: 'Allow', policy: 'default', shadow_denied: true },
      {
        status: 'Deny',
        policy: 'no',
        rule: 'deny',
        limit: 0,
        remain: 0,
        reset_in_second: 90,
        retry_after_ms: 90_000,
        reason: 'no “plan”',
      },
    ])
    expect(answers[0][1].headers.slice(0, 2)).toEqual([
      '"rule-1";r=98;t=41, "org/rule-1";r=0;t=3600',
      '"rule-1";q=100;w=60, "org/rule-1";q=2;w=3600',
    ])
    expect(answers[0][4].headers.slice(0, 3)).toEqual([null, null, '90'])
  })
})

describe('policies', () => {
  test('with new fields are stored and listed as they were written, and survive a restart', async () => {
    const first = await startService()
    const spec = {
      client: 'a*',
      where: { plan: 'free', region: 'eu*' },
      applies: 'always',
      rules: [{ algorithm: 'fixed-window', limit: 0, window: '1m', per: ['org', 'client'] }, '5/minute'],
      per: [],
      expires_at: at(60_000),
      reason: 'a trial',
      show_reason: false,
    }
    const put = await first.call('PUT', '/v1/policies/trial', spec)
    expect(put.status).toBe(201)
    expect(put.body.data).toMatchObject({ ...spec, mode: 'enforce', scope: 'route', source: 'api' })
    expect(put.body.data).not.toHaveProperty('expired')
    await first.close()
    const again = await startService({ folder: first.folder, key: first.key })
    expect((await again.call('GET', '/v1/policies/trial')).body.data).toEqual(put.body.data)
    advance(60_000)
    expect((await again.call('GET', '/v1/policies/trial')).body.data).toEqual({ ...put.body.data, expired: true })
    expect((await again.call('DELETE', '/v1/policies/trial')).status).toBe(200)
  })

  test.each<[object, string]>([
    [{ where: { plan: 'free' } }, 'rules is missing: only a policy with mode deny needs none'],
    [{ client: 'a', rules: '5/minute', where: { Plan: 'x' } }, 'a name in where must be a name of up to 64 characters'],
    [
      { client: 'a', rules: '5/minute', where: { plan: 'a*b' } },
      'where.plan must be a value, a prefix that ends in *, or * for all',
    ],
    [{ client: 'a', rules: '5/minute', applies: 'sometimes' }, 'applies must be "most-specific" or "always", got "sometimes"'],
    [{ client: 'a', rules: '5/minute', per: ['org', 'org'] }, 'per names "org" twice'],
    [{ client: 'a', rules: '5/minute', per: 'Org' }, 'per must be client, route or the name of an attribute'],
    [{ client: 'a', rules: { algorithm: 'gcra', limit: 5, period: '1s', per: 5 } }, 'rules.per must be'],
    [{ client: 'a', mode: 'deny', show_reason: true }, 'reason is missing: show_reason shows it to callers'],
    [{ client: 'a', mode: 'deny', reason: 'a\nb' }, 'reason must be a text of 1 to 256 characters without control characters'],
    [{ client: 'a', rules: '0/minut' }, 'no unit is called "minut"'],
    [{ client: 'a', rules: 'token-bucket 0/second burst 5' }, 'refill'],
    [{ client: 'a', rules: '5/minute', expires_at: '2027-02-30T00:00:00Z' }, 'expires_at is no time of the calendar'],
  ])('%j is refused', async (spec, message) => {
    const { call } = await startService()
    const { status, body } = await call('PUT', '/v1/policies/bad', spec)
    expect(status).toBe(400)
    expect(body.meta.message).toContain(message)
    expect((await call('GET', '/v1/policies')).body.data.total).toBe(1)
  })

  test('of a YAML file have the new fields, and problems have their line', async () => {
    const file = join(temporaryFolder(), 'sluice.yaml')
    const yaml = `policies:
  - name: orgs
    applies: always
    per: org
    rules: 2/hour
  - name: free
    where: { plan: free, region: eu* }
    rules: 5/hour
  - name: closed
    route: /closed
    mode: deny
    expires_at: 2027-01-15T09:00:00Z
    reason: under repair
    show_reason: true
`
    writeFileSync(file, yaml)
    const { call } = await startService({ flags: { config: file } })
    const check = async (route: string, attributes = {}) =>
      (await call('POST', '/v1/check', { client_id: 'ada', route, attributes })).body.data
    expect(await check('/a', { plan: 'free', region: 'eu-1', org: 'acme' })).toMatchObject({ policy: 'orgs', remain: 1 })
    expect(await check('/a', { plan: 'free', region: 'eu-1' })).toMatchObject({ policy: 'free', remain: 3 })
    expect(await check('/closed')).toMatchObject({ policy: 'closed', reason: 'under repair' })
    writeFileSync(file, yaml.replace('plan: free', 'Plan: free'))
    await expect(startService({ flags: { config: file } })).rejects.toThrow(
      /sluice\.yaml:7: a name in policies\[1\]\.where must be/,
    )
  })

  test('share neither patterns nor conditions, unless they always apply', async () => {
    const { call } = await startService()
    const put = async (name: string, spec: object) =>
      (await call('PUT', `/v1/policies/${name}`, { rules: '5/minute', ...spec })).body.meta
    await put('one', { where: { plan: 'free', org: 'a*' } })
    expect(await put('two', { where: { org: 'a*', plan: 'free' } })).toMatchObject({ error: 'ERR_POLICY_TAKEN', code: 409 })
    expect(await put('two', { where: { org: 'a*', plan: 'free' }, applies: 'always' })).toMatchObject({ code: 201 })
    expect(await put('three', { where: { org: 'a*', plan: 'free' }, applies: 'always' })).toMatchObject({ code: 201 })
    expect(await put('four', { where: { org: 'a*' }, per: 'plan' })).toMatchObject({ code: 201 })
    expect(await put('five', { where: { org: 'a*', plan: '*' } })).toMatchObject({ error: 'ERR_POLICY_TAKEN' })
  })
})

describe('a block from the command line', () => {
  test('is one line, is audited, and ends by itself or by another line', async () => {
    const service = await startService()
    const { call } = service
    const check = async (client_id = 'mallory') => (await call('POST', '/v1/check', { client_id, route: '/a' })).body.data
    await call('PUT', '/v1/policies/own', { client: 'mallory', route: '/a', rules: '500/minute' })
    const blocked = await sluice(service, 'policies', 'block', 'mallory', '--until', '12h', '--reason', 'floods', '--show-reason')
    expect(blocked).toEqual({
      code: 0,
      stdout: `mallory is blocked until ${at(43_200_000)} (policy block:mallory)\n`,
      stderr: '',
    })
    expect(await check()).toMatchObject({ status: 'Deny', policy: 'block:mallory', reason: 'floods', retry_after_ms: 43_200_000 })
    expect(await check('bob')).toMatchObject({ status: 'Allow' })
    expect((await sluice(service, 'check', 'mallory', '/a')).stdout).toBe(
      'Deny   everything is denied, try again in 12 h: floods\n',
    )
    expect((await call('GET', '/v1/audit?limit=1')).body.data.entries[0]).toMatchObject({
      action: 'policy.put',
      target: 'block:mallory',
      after: { mode: 'deny', applies: 'always', reason: 'floods' },
    })
    advance(43_200_000)
    expect(await check()).toMatchObject({ status: 'Allow', policy: 'own' })
    expect((await sluice(service, 'policies', 'list', '--search', 'mallory')).stdout).toContain('deny, always (expired)')
    expect(await sluice(service, 'policies', 'block', 'mallory')).toMatchObject({ code: 0 })
    expect(await check()).toMatchObject({ status: 'Deny', retryable: false, retry_after_ms: null })
    expect(await check()).not.toHaveProperty('reason')
    const enforced = await sluice(service, 'policies', 'set', 'block:mallory', '--mode', 'enforce')
    expect(enforced.stderr).toContain(
      'the policy block:mallory denies everything and has no rules: with another mode it needs --rule',
    )
    expect((await sluice(service, 'policies', 'unblock', 'mallory')).stdout).toBe('mallory is not blocked any more\n')
    expect(await check()).toMatchObject({ status: 'Allow' })
    const again = await sluice(service, 'policies', 'unblock', 'mallory')
    expect([again.code === 0, again.stderr]).toEqual([false, expect.stringContaining('mallory is not blocked')])
  })

  test('takes any client, and refuses all of them and times of the past', async () => {
    const service = await startService()
    const { call } = service
    for (const client of ['a b/c', 'ü', 'x'.repeat(256), 'bot-*', 'sha256:1']) {
      expect((await sluice(service, 'policies', 'block', client)).code).toBe(0)
      const client_id = client.replace('*', '7')
      expect((await call('POST', '/v1/check', { client_id, route: '/a' })).body.data.status).toBe('Deny')
      expect((await sluice(service, 'policies', 'unblock', client)).code).toBe(0)
    }
    expect((await sluice(service, 'policies', 'block', '*')).stderr).toContain('block names clients')
    expect((await sluice(service, 'policies', 'block', 'x', '--until', '2020-01-01T00:00:00Z')).stderr).toContain('in the future')
    expect((await call('GET', '/v1/policies')).body.data.total).toBe(1)
  })

  test('policies set has the new fields, and check the attributes', async () => {
    const service = await startService()
    const set = (...args: string[]) => sluice(service, 'policies', 'set', ...args)
    expect(await set('free', '--where', 'plan=free', '--where', 'region=eu*', '--rule', '3/hour')).toMatchObject({ code: 0 })
    expect(await set('orgs', '--applies', 'always', '--per', 'org', '--rule', '9/hour', '--expires-at', '1h')).toMatchObject({
      code: 0,
    })
    expect(await set('all', '--applies', 'always', '--per', '', '--rule', '99/hour', '--reason', 'x')).toMatchObject({ code: 0 })
    const { policies } = (await service.call('GET', '/v1/policies')).body.data
    expect(policies).toMatchObject([
      { name: 'all', per: [], applies: 'always', reason: 'x' },
      { name: 'default' },
      { name: 'free', where: { plan: 'free', region: 'eu*' } },
      { name: 'orgs', per: ['org'], expires_at: at(3_600_000) },
    ])
    const checked = await sluice(
      service,
      'check',
      'ada',
      '/a',
      '--attribute',
      'plan=free',
      '--attribute',
      'region=eu-1',
      '--json',
    )
    expect(JSON.parse(checked.stdout)).toMatchObject({ allowed: true, policy: 'free', rule: 'rule-1', remaining: 2 })
    expect(await set('orgs', '--expires-at', 'never')).toMatchObject({ code: 0, stderr: '' })
    expect((await service.call('GET', '/v1/policies/orgs')).body.data).not.toHaveProperty('expires_at')
    expect((await set('more', '--rule', '1/s')).stderr).toContain('with --client, --route or --where')
    expect((await set('more', '--where', 'plan', '--rule', '1/s')).stderr).toContain('a name and a value, such as plan=free')
  })
})
