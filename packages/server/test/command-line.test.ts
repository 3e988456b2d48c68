// The `sluice` command against the real service: its output and its exit codes.

import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { buildProgram, runProgram } from '../src/cli/program.ts'
import { certificate } from './certificate.ts'
import { advance, startService, type TestService } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { writtenTo } from './written-to.ts'

let service: TestService
beforeEach(async () => {
  service = await startService()
})

interface RunOptions {
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly input?: string
  readonly isTTY?: boolean
}

async function sluice(args: readonly string[], { env = {}, input = '', isTTY = false }: RunOptions = {}) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()].map((stream) => Object.assign(stream, { isTTY }))
  const known = { SLUICE_URL: service.address, SLUICE_API_KEY: service.key, ...env }
  const code = await runProgram(args, { stdin: Readable.from([input]), stdout, stderr, env: known, exitCode: 0 })
  return { code, stdout: writtenTo(stdout), stderr: writtenTo(stderr) }
}

/** Runs a command that must succeed. Returns its output. */
async function printed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await sluice(args)
  expect({ code, stderr }, args.join(' ')).toEqual({ code: 0, stderr: '' })
  return stdout
}

function file(name: string, content: string): string {
  const path = join(temporaryFolder(), name)
  writeFileSync(path, content)
  return path
}

/** Starts a server that gives one answer to every request. Returns the environment of a command that calls it. */
async function serviceThatAnswers(data: object): Promise<Record<string, string>> {
  const server = createServer((_, response) => response.end(JSON.stringify({ meta: {}, data })))
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { SLUICE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

describe('check', () => {
  test.each([
    ['allow', 'Allow', 0, 'Allow  the store does not answer, and nothing is counted\n'],
    ['deny', 'Deny', 1, 'Deny   the store does not answer, try again in 500 ms\n'],
    ['local', 'Allow', 0, 'Allow  4 of 5 left, all free again in 60 s\n'],
  ])('prints a decision of failure mode %s', async (fallback, status, code, stdout) => {
    const result = { status, limit: 5, remain: 4, reset_in_second: 60, fallback, retry_after_ms: 500 }
    const env = await serviceThatAnswers({ ...result, results: [result] })
    expect(await sluice(['check', 'acme', '/a'], { env })).toEqual({ code, stdout, stderr: '' })
    const json = await sluice(['check', 'acme', '/a', '--json'], { env })
    expect(JSON.parse(json.stdout)).toMatchObject({ storeFallback: fallback })
  })

  test('says that a quota is used up for too long to try again', async () => {
    const result = { status: 'Deny', limit: 5, remain: 0, reset_in_second: 7200, retryable: false, retry_after_ms: 7_200_000 }
    const env = await serviceThatAnswers({ ...result, results: [result] })
    const { code, stdout } = await sluice(['check', 'acme', '/a'], { env })
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'Deny   0 of 5 left, used up for another 2 h\n' })
    const json = await sluice(['check', 'acme', '/a', '--json'], { env })
    expect(JSON.parse(json.stdout)).toMatchObject({ retryable: false, retryAfterMs: 7_200_000 })
  })

  test('prints the decision, and has a matching exit code', async () => {
    expect(await sluice(['check', 'acme', '/v1/orders'])).toEqual({
      code: 0,
      stdout: 'Allow  99 of 100 left, all free again in 41 s\n',
      stderr: '',
    })
    expect(await sluice(['check', 'acme', '/v1/orders', '--cost', '100'])).toMatchObject({
      code: 1,
      stdout: 'Deny   99 of 100 left, try again in 41 s\n',
    })
    expect(await sluice(['check', 'acme', '/v1/orders', '--cost', '101'])).toMatchObject({
      code: 1,
      stdout: 'Deny   99 of 100 left, the cost is above the limit\n',
    })
    const json = await sluice(['check', 'acme', '/v1/orders', '--cost', '101', '--json'])
    expect(json.code).toBe(1)
    expect(JSON.parse(json.stdout)).toEqual({
      allowed: false,
      policy: 'default',
      rule: 'rule-1',
      limit: 100,
      remaining: 99,
      retryAfterMs: null,
      retryable: false,
      resetAfterMs: 41_000,
    })
    await printed('policies', 'set', 'default', '--rule', '1/minute', '--mode', 'shadow')
    await printed('check', 'bob', '/')
    expect(await printed('check', 'bob', '/')).toBe(
      'Allow  0 of 1 left, all free again in 60 s (its rules deny this; the policy is in shadow mode)\n',
    )
  })

  test('many from a file, or from standard input', async () => {
    await printed('policies', 'set', 'three', '--client', 'acme', '--rule', '3/hour')
    const lines = ['acme', 'bob', 'acme', 'acme', 'acme'].map((client_id) => JSON.stringify({ client_id, route: '/' }))
    expect(await sluice(['check', '--file', file('checks.jsonl', lines.join('\n'))])).toEqual({
      code: 1,
      stdout: '4 allowed, 1 denied\n',
      stderr: '',
    })
    const json = await sluice(['check', '--file', '-', '--json'], { input: `${lines[0]}\n\n${lines[1]}\n` })
    expect(json.code).toBe(1)
    expect(
      json.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { client_id: 'acme', route: '/', allowed: false },
      { client_id: 'bob', route: '/', allowed: true },
    ])
  })

  test('shows its progress on a terminal', async () => {
    const lines = Array.from({ length: 2500 }, (_, i) => JSON.stringify({ client_id: `c${i}`, route: '/' }))
    const { stdout, stderr } = await sluice(['check', '--file', file('checks.jsonl', lines.join('\n'))], { isTTY: true })
    expect(stdout).toBe('2,500 allowed, 0 denied\n')
    expect(stderr).toContain('2,500 of 2,500 checks, 100 %')
  })

  test('a mistake in the last line of a file spends nothing', async () => {
    const good = JSON.stringify({ client_id: 'acme', route: '/' })
    for (const [bad, message] of [
      ['{', 'is not JSON'],
      ['{"client_id":"acme"}', 'a check needs client_id and route'],
      ['{"client_id":"acme","route":"/","cost":0}', 'cost must be a whole number of at least 1, got 0'],
      [
        '{"client_id":"acme","route":"/","price":1}',
        'a check has no field "price": it has client_id, route, attributes and cost',
      ],
    ]) {
      const path = file('checks.jsonl', `${good}\n${bad}\n`)
      expect(await sluice(['check', '--file', path])).toEqual({ code: 2, stdout: '', stderr: `${path}:2: ${message}\n` })
    }
    expect(JSON.parse(await printed('usage', 'acme', '/', '--json'))).toMatchObject({ rules: [{ used: 0 }] })
    expect(await sluice(['check', '--file', '/nowhere/checks.jsonl'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('/nowhere/checks.jsonl'),
    })
  })
})

test('usage and reset', async () => {
  await printed('policies', 'set', 'two', '--client', 'acme', '--rule', '5/minute', '--rule', '1000/hour')
  await printed('check', 'acme', '/v1/orders', '--cost', '5')
  expect(await printed('usage', 'acme', '/v1/orders')).toBe(
    [
      'Deny   policy two',
      'rule    used  left  limit  passes in  all free in',
      'rule-1     5     0      5  60 s       60 s',
      'rule-2     5   995  1,000  now        60 min',
      '',
    ].join('\n'),
  )
  expect(await printed('reset', 'acme', '/v1/orders')).toBe('acme has used nothing of /v1/orders (policy two)\n')
  expect(JSON.parse(await printed('usage', 'acme', '/v1/orders', '--json'))).toMatchObject({
    policy: 'two',
    rules: [{ used: 0 }, { used: 0 }],
  })
})

test.each([
  ['allow', 'Allow', 'Allow  policy default: the store does not answer, and nothing is counted\n'],
  ['deny', 'Deny', 'Deny   policy default: the store does not answer, and nothing is counted\n'],
  [
    'local',
    'Allow',
    'Allow  policy default: the store does not answer, these are the counters of one instance\n' +
      'rule    used  left  limit  passes in  all free in\nrule-1     1     4      5  now        60 s\n',
  ],
])('usage prints an answer of failure mode %s', async (fallback, status, stdout) => {
  const rules = [{ name: 'rule-1', limit: 5, used: 1, remain: 4, reset_in_second: 60, retry_after_ms: 0 }]
  const answer = { client_id: 'acme', route: '/a', policy: 'default', mode: 'enforce', status, rules, fallback }
  const env = await serviceThatAnswers(answer)
  expect(await sluice(['usage', 'acme', '/a'], { env })).toEqual({ code: 0, stdout, stderr: '' })
  const json = await sluice(['usage', 'acme', '/a', '--json'], { env })
  expect(JSON.parse(json.stdout)).toMatchObject({ storeFallback: fallback, rules: [{ used: 1 }] })
})

describe('policies', () => {
  test('set does not overwrite a change by somebody else at the same moment', async () => {
    await printed('policies', 'set', 'gold', '--client', 'acme', '--rule', '20/second')
    // Between reading and writing the policy.
    const between = createServer(async (request, response) => {
      const headers = { 'if-match': request.headers['if-match'] ?? '*' }
      const written = request.method === 'PUT' ? await text(request) : undefined
      const { status, body } = await service.call(request.method as string, request.url as string, written, headers)
      if (request.method === 'GET') await service.call('PUT', '/v1/policies/gold', { client: 'acme', rules: '30/second' })
      response.writeHead(status).end(JSON.stringify(body))
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void between.close())
    await once(between, 'listening')
    const env = { SLUICE_URL: `http://127.0.0.1:${(between.address() as AddressInfo).port}` }
    expect(await sluice(['policies', 'set', 'gold', '--mode', 'shadow'], { env })).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('the policy "gold" has been changed'),
    })
    expect((await service.call('GET', '/v1/policies/gold')).body.data).toMatchObject({ rules: ['30/second'], mode: 'enforce' })
  })

  test('set adds a policy, or changes only the given options', async () => {
    const gold = [
      'policies:',
      '  - name: gold',
      '    client: acme*',
      '    route: "*"',
      '    rules:',
      '      - 20/second',
      '      - 10000/day',
    ]
    expect(await printed('policies', 'set', 'gold', '--client', 'acme*', '--rule', '20/second', '--rule', '10000/day')).toBe(
      [...gold, '    mode: enforce', '    scope: route', ''].join('\n'),
    )
    expect(await printed('policies', 'set', 'gold', '--mode', 'shadow', '--scope', 'policy')).toBe(
      [...gold, '    mode: shadow', '    scope: policy', ''].join('\n'),
    )
    expect(await printed('policies', 'get', 'gold')).toContain('mode: shadow')
    expect(JSON.parse(await printed('policies', 'get', 'gold', '--json'))).toMatchObject({ name: 'gold', source: 'api' })
    const uploads = file(
      'uploads.yaml',
      'route: /upload*\nrules: { algorithm: leaky-bucket, capacity: 10, leak: 1, every: 1s }\n',
    )
    await printed('policies', 'set', 'uploads', '--file', uploads)
    expect(await printed('policies', 'list')).toBe(
      [
        'name     client  route     where  rules                                                 mode     per            source',
        'default  *       *                fixed-window(limit: 100, window: 60s, anchor: clock)  enforce  client, route  built-in',
        'gold     acme*   *                20/second; 10000/day                                  shadow   client         api',
        'uploads  *       /upload*         leaky-bucket(capacity: 10, leak: 1, every: 1s)        enforce  client, route  api',
        '',
      ].join('\n'),
    )
    expect(JSON.parse(await printed('policies', 'list', '--search', 'upload', '--json'))).toMatchObject([{ name: 'uploads' }])
    expect(await printed('policies', 'delete', 'gold')).toBe('gold is deleted\n')
    expect(await sluice(['policies', 'get', 'gold'])).toEqual({ code: 4, stdout: '', stderr: 'no policy is called "gold"\n' })
  })

  test('the report of a policy in shadow mode has checks, rules and clients', async () => {
    await printed('policies', 'set', 'trial', '--route', '/trial', '--rule', '2/minute', '--mode', 'shadow')
    expect(await printed('policies', 'shadow', 'trial')).toBe('trial has decided no check yet.\n')
    for (const client of ['ada', 'ada', 'ada', 'ada', 'bob']) {
      await service.call('POST', '/v1/check', { client_id: client, route: '/trial' })
    }
    expect(await printed('policies', 'shadow', 'trial')).toBe(
      [
        'trial has decided 5 checks since 2027-01-15T08:00:19.000Z, and would have denied 2.',
        '',
        'rule    would have denied',
        'rule-1                  2',
        '',
        'client  would have denied',
        'ada                     2',
        '',
      ].join('\n'),
    )
    expect(JSON.parse(await printed('policies', 'shadow', 'trial', '--json'))).toMatchObject({
      ...{ policy: 'trial', checks: 5, denied: 2, uncountedInstances: 0 },
      clients: [{ clientId: 'ada', denied: 2, error: 0 }],
      instances: [{ isSelf: true, checks: 5, denied: 2 }],
    })
    await printed('policies', 'set', 'trial', '--mode', 'enforce')
    expect(await sluice(['policies', 'shadow', 'trial'])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('shadow mode'),
    })
  })

  test('exported policies can be imported, and used with --config', async () => {
    const policies = Array.from(
      { length: 30 },
      (_, i) => `  - { name: p${String(i).padStart(2, '0')}, client: "c${i}", rules: ${i + 1}/minute }`,
    )
    const path = file('policies.yaml', `policies:\n${policies.join('\n')}\n`)
    const shown = await sluice(['policies', 'import', path], { isTTY: true })
    expect(shown).toMatchObject({
      code: 0,
      stdout: '30 policies imported\n',
      stderr: expect.stringContaining('30 of 30 policies, 100 %'),
    })
    const exported = await printed('policies', 'export')
    expect(exported).not.toContain('default')
    for (let i = 0; i < 30; i++) await service.call('DELETE', `/v1/policies/p${String(i).padStart(2, '0')}`)
    expect(await sluice(['policies', 'import', '-'], { input: exported })).toMatchObject({
      code: 0,
      stdout: '30 policies imported\n',
    })
    expect(await printed('policies', 'export')).toBe(exported)
    expect(await printed('config', 'validate', '--config', file('exported.yaml', exported))).toBe(
      'The configuration is valid, with 30 policies.\n',
    )
    const json = file('exported.json', await printed('policies', 'export', '--json'))
    expect(JSON.parse(await printed('policies', 'import', json, '--json'))).toEqual({ imported: 30 })
  })

  test('a file with mistakes changes nothing, and every mistake is reported', async () => {
    const path = file(
      'policies.yaml',
      'policies:\n  - { name: a, client: a, rules: 1/s }\n  - { name: b, client: b, ruls: 1/s }\n  - { name: c, client: c, rules: often }\n',
    )
    const { code, stderr } = await sluice(['policies', 'import', path])
    expect(code).toBe(2)
    expect(stderr).toContain(`${path}:3: `)
    expect(stderr).toContain(`${path}:4: `)
    expect(JSON.parse(await printed('policies', 'list', '--json'))).toHaveLength(1)
    expect(await sluice(['policies', 'import', file('empty.yaml', '')])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has no policies'),
    })
  })

  test('an import that the service refuses half-way reports the number of imported policies', async () => {
    await printed('policies', 'set', 'taken', '--client', 'c', '--rule', '1/s')
    const path = file('policies.yaml', 'policies:\n  - { name: other, client: c, rules: 1/s }\n')
    expect(await sluice(['policies', 'import', path])).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/^other: .*taken.* \(0 of 1 were imported\)\n$/),
    })
  })

  test.each([
    [['policies', 'set', 'x'], 'name what to set, such as --client, --route, --where, --rule, --mode, --scope or --file'],
    [
      ['policies', 'set', 'p1', '--rule', '5/minute'],
      'name the requests that the policy p1 is for, with --client, --route or --where: the policy for all requests is called default',
    ],
    [['policies', 'set', 'x', '--mode', 'off'], 'there is no policy x yet: a new one needs --rule or --file'],
    [
      ['policies', 'set', 'x', '--mode', 'on'],
      "error: option '--mode <mode>' argument 'on' is invalid. Allowed choices are enforce, shadow, off, deny.",
    ],
    [['policies', 'get'], "error: missing required argument 'name'"],
    [['policies', 'lst'], "error: unknown command 'lst'\n(Did you mean list?)"],
    [['policies', 'lst', '--help'], "error: unknown command 'lst'\n(Did you mean list?)"],
    [['confg', '--help'], "error: unknown command 'confg'\n(Did you mean config?)"],
    [['help', 'nosuch'], "error: unknown command 'nosuch'"],
    [['keys', 'help', 'rotat'], "error: unknown command 'rotat'\n(Did you mean rotate?)"],
    [['check', 'acme'], 'check needs a client and a route, or --file'],
    [
      ['check', 'acme', '/', '--cost', '-1'],
      "error: option '--cost <units>' argument '-1' is invalid. It must be a whole number from 1 to 9007199254740991.",
    ],
    [['check', 'acme', '/', '--key', 'sluice_x'], "error: unknown option '--key'"],
    [
      ['keys', 'create', 'x', '--expires', '2020-01-01T00:00:00Z'],
      "error: option '--expires <time>' argument '2020-01-01T00:00:00Z' is invalid. It must be in the future.",
    ],
    [
      ['keys', 'create', 'x', '--expires', 'soon'],
      "error: option '--expires <time>' argument 'soon' is invalid. It must be a time such as 2027-01-31T00:00:00Z, or a duration from now such as '90d'.",
    ],
  ])('%j is refused', async (args, message) => {
    expect(await sluice(args)).toEqual({ code: 2, stdout: '', stderr: `${message}\n` })
  })
})

test('keys are created, listed, rotated and revoked', async () => {
  advance(1)
  const {
    code,
    stdout: secret,
    stderr,
  } = await sluice(['keys', 'create', 'shop', '--scope', 'check', '--scope', 'read', '--expires', '90d'])
  expect(code).toBe(0)
  expect(secret).toMatch(/^sluice_\w+\n$/)
  expect(stderr).toMatch(/^\w+ \(shop\), check, read, until 2027-04-15T08:00:19.001Z\nThe secret is shown only once:\n$/)
  const id = stderr.split(' ')[0]
  const env = { SLUICE_API_KEY: secret }
  expect((await sluice(['check', 'acme', '/'], { env })).code).toBe(0)
  expect(await sluice(['keys', 'list'], { env })).toMatchObject({ code: 4, stderr: expect.stringContaining('scope admin') })
  advance(1)
  const rotated = JSON.parse(await printed('keys', 'rotate', id, '--grace', '1h', '--json'))
  expect(rotated).toMatchObject({ name: 'shop', scopes: ['check', 'read'] })
  expect(await printed('keys', 'revoke', rotated.id)).toBe(`${rotated.id} (shop) is revoked\n`)
  const listed = await printed('keys', 'list')
  expect(listed.split('\n').map((line) => line.replace(/^\S+\s+/, '').replace(/\s+/g, ' '))).toEqual([
    'name scopes state created last used',
    'shop check,read revoked 2027-01-15 never',
    'shop check,read until 2027-01-15 2027-01-15 2027-01-15',
    'first-admin admin valid 2027-01-15 2027-01-15',
    '',
  ])
  expect(listed).not.toContain(secret.trim())
})

test('audit lists changes with the names of keys, searches, and goes on to older pages', async () => {
  await printed('policies', 'set', 'gold', '--client', 'a', '--rule', '5/minute')
  await sluice(['keys', 'create', 'shop', '--scope', 'check'])
  const all = await printed('audit')
  expect(all).toMatch(/^time +who +did +to +from\n.* first-admin \(\w+\) +key\.create .*\n.* policy\.put +gold +127\.0\.0\.1\n/)
  expect(await printed('audit', 'POLICY.put')).not.toContain('key.create')
  const first = await printed('audit', '--limit', '1')
  const [, cursor] = /Older ones: --before (\S+)/.exec(first) as RegExpExecArray
  expect(await printed('audit', '--before', cursor)).toContain('policy.put')
  expect(await printed('audit', 'nothing like this')).toBe('No entry was found.\n')
  expect(JSON.parse(await printed('audit', 'gold', '--json'))).toMatchObject({ entries: [{ action: 'policy.put' }] })
  expect(await sluice(['audit', '--of', 'everything'])).toMatchObject({ code: 2 })
})

test('a key has exactly the requested scopes; check by default', async () => {
  const scopesOf = async (...args: string[]) => JSON.parse(await printed('keys', 'create', ...args, '--json')).scopes
  expect(await scopesOf('looks', '--scope', 'read')).toEqual(['read'])
  expect(await scopesOf('rules', '--scope', 'admin')).toEqual(['admin'])
  expect(await scopesOf('asks')).toEqual(['check'])
  expect(await scopesOf('both', '--scope', 'read', '--scope', 'check')).toEqual(['read', 'check'])
})

test('the last admin key is revoked only with --force', async () => {
  const [{ id }] = JSON.parse(await printed('keys', 'list', '--json'))
  const refused = await sluice(['keys', 'revoke', id])
  expect(refused).toMatchObject({
    code: 4,
    stdout: '',
    stderr: expect.stringContaining('is the last valid key with the scope admin'),
  })
  expect(refused.stderr).toContain('--force')
  expect(await printed('keys', 'revoke', id, '--force')).toBe(`${id} (first-admin) is revoked\n`)
})

test('a key is read from a file, and never from the command line', async () => {
  const path = file('key', `${service.key}\n`)
  chmodSync(path, 0o600)
  const env = { SLUICE_API_KEY: undefined }
  expect((await sluice(['check', 'acme', '/', '--key-file', path], { env })).code).toBe(0)
  expect(await sluice(['check', 'acme', '/'], { env })).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('Give the key in SLUICE_API_KEY or in a file with --key-file.'),
  })
  expect(await sluice(['check', 'acme', '/', '--key-file', '/nowhere/key'], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('/nowhere/key'),
  })
  expect(await sluice(['check', 'acme', '/'], { env: { SLUICE_API_KEY: 'with space' } })).toMatchObject({ code: 2 })
})

test('without any admin key, one is created in the data folder while the service is stopped', async () => {
  const { folder } = service
  const running = await sluice(['keys', 'create', 'rescue', '--scope', 'admin', '--data-folder', folder])
  expect(running).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/is in use by process \d+/) })
  await service.close()
  const made = await sluice(['keys', 'create', 'rescue', '--scope', 'admin', '--data-folder', folder])
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^sluice_\w+\n$/) })
  service = await startService({ folder, key: made.stdout.trim() })
  expect((await service.call('GET', '/v1/keys')).body.data.keys.map(({ name }: { name: string }) => name)).toContain('rescue')
  expect((await service.call('GET', '/v1/audit')).body.data.entries[0]).toMatchObject({ actor: 'cli', action: 'key.create' })
  const nowhere = join(folder, 'nowhere')
  expect(await sluice(['keys', 'create', 'x', '--data-folder', nowhere])).toEqual({
    code: 2,
    stdout: '',
    stderr: `there is no data folder ${nowhere}\n`,
  })
})

test('an unreachable service is reported with a clear message', async () => {
  const env = { SLUICE_URL: 'http://127.0.0.1:1' }
  expect(await sluice(['check', 'acme', '/'], { env })).toEqual({
    code: 3,
    stdout: '',
    stderr:
      'http://127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1\nIs it running? Start it with: sluice serve\n',
  })
  expect(await sluice(['check', 'acme', '/', '--url', 'nonsense'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('url must be'),
  })
})

test('a service that takes too long is reported with a hint', async () => {
  const silent = createServer(() => {})
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const { code, stderr } = await sluice(['check', 'acme', '/', '--url', url, '--timeout', '50'])
  expect({ code, stderr }).toEqual({
    code: 3,
    stderr: expect.stringMatching(/ within 50 ms\nGive it more time with --timeout\.\n$/),
  })
})

test('a command that needs a subcommand prints its help, and ends with 2', async () => {
  for (const args of [[], ['config'], ['policies'], ['keys'], ['records']]) {
    const { code, stdout, stderr } = await sluice(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`Usage: ${['sluice', ...args].join(' ')} [options] [command]`)
  }
  expect(await sluice(['help', 'keys'])).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: sluice keys') })
})

test('a failure of TLS is reported as such with a hint, and not as a service that is down', async () => {
  const { cert, key } = certificate('DNS:sluice.example')
  const overTls = await startService({ flags: { tlsCert: cert, tlsKey: key } })
  const asked = async (url: string) => (await sluice(['check', 'acme', '/', '--url', url])).stderr
  expect(await asked(overTls.address)).toMatch(
    /self-signed certificate.*\nThe certificate is not trusted\. .*NODE_EXTRA_CA_CERTS\.\n$/,
  )
  expect(await asked(overTls.address.replace('https', 'http'))).toMatch(/broke: .*\nIf the service uses TLS, .* https:\/\/\.\n$/)
  expect(await asked(service.address.replace('http', 'https'))).toMatch(/\nThe TLS handshake failed\. .* http:\/\/\.\n$/)
  expect(await asked('http://nobody.invalid')).toMatch(/nobody\.invalid\nIs the host name right\?\n$/)
})

test('names chosen by others cannot control the terminal', async () => {
  const evil = 'a\x1b]0;owned\x07\x1b[2J\u202e\nb'
  await printed('policies', 'set', 'none', '--client', 'a*', '--rule', '1/hour')
  for (let i = 0; i < 3; i++) await sluice(['check', evil, evil])
  const outputs = await Promise.all([
    sluice(['usage', evil, evil]),
    sluice(['usage', evil, evil, '--json']),
    sluice(['reset', evil, evil]),
    sluice(['top', '--once']),
    sluice(['top', '--once', '--json']),
    sluice(['policies', 'get', evil]),
    sluice(['policies', 'list', '--search', evil]),
  ])
  expect(outputs[3].stdout).toContain('a·]0;owned··[2J··b')
  for (const { stdout, stderr } of outputs) expect(stdout + stderr).not.toMatch(/(?!\n)\p{Cc}|\u202e/u)
})

describe('config', () => {
  test('validate reports all problems with their place', async () => {
    const path = file('sluice.yaml', 'listen: 127.0.0.1:99999\nlogLevel: lowd\npolices: []\n')
    const { code, stdout, stderr } = await sluice(['config', 'validate', '--config', path])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('did you mean policies?')
    expect(stderr).toContain(`${path}:2: `)
    expect(await sluice(['config', 'validate', '--listen', '0.0.0.0:80', '--keys-required', 'false'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no API key is required'),
    })
    expect(await printed('config', 'validate')).toBe('The configuration is valid.\n')
  })

  test('unusable TLS files are refused with their option, before anything is created', async () => {
    const { cert, key } = certificate()
    const other = certificate()
    const text = file('text.pem', 'nonsense')
    const dataFolder = join(temporaryFolder(), 'data')
    const cases = [
      { tls: ['missing.pem', key], says: /^tlsCert missing\.pem cannot be read: ENOENT.* \(flag --tls-cert\)\n$/ },
      { tls: [cert, temporaryFolder()], says: /^tlsKey \S+ cannot be read: EISDIR.* \(flag --tls-key\)\n$/ },
      { tls: [text, key], says: /^tlsCert \S+ is not a certificate in PEM: .* \(flag --tls-cert\)\n$/ },
      { tls: [cert, text], says: /^tlsKey \S+ is not a private key in PEM .* \(flag --tls-key\)\n$/ },
      { tls: [cert, other.key], says: /^tlsKey \S+ does not belong to the certificate \S+: .* \(flag --tls-key\)\n$/ },
      { tls: ['a.pem', 'b.pem'], says: /^tlsCert a\.pem cannot .*\ntlsKey b\.pem cannot .*\n$/ },
    ]
    for (const { tls, says } of cases) {
      const flags = ['--tls-cert', tls[0], '--tls-key', tls[1], '--data-folder', dataFolder]
      for (const command of [['config', 'validate'], ['serve']]) {
        const { code, stdout, stderr } = await sluice([...command, ...flags])
        expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(says) })
      }
    }
    expect(existsSync(dataFolder)).toBe(false)
    expect(await printed('config', 'validate', '--tls-cert', cert, '--tls-key', key)).toBe('The configuration is valid.\n')
  })

  test('print shows the origin of each value, and no password', async () => {
    const path = file('sluice.yaml', 'maxKeys: 5000\n')
    const env = { SLUICE_STORE: 'redis://user:hunter2@redis:6379' }
    const { code, stdout } = await sluice(['config', 'print', '--config', path, '--log-level', 'warn'], { env })
    expect(code).toBe(0)
    const lines = stdout.split('\n').map((line) => line.replace(/ +/g, ' '))
    expect(lines).toContain(`maxKeys: 5000 # file ${path}`)
    expect(lines).toContain('logLevel: "warn" # flag --log-level')
    expect(lines).toContain('listen: "127.0.0.1:8080" # default')
    expect(stdout).toContain('environment SLUICE_STORE')
    expect(stdout).not.toContain('hunter2')
    const json = await sluice(['config', 'print', '--json'], { env })
    expect(JSON.parse(json.stdout)).toContainEqual({
      name: 'store',
      value: 'redis://user:***@redis:6379',
      origin: 'environment SLUICE_STORE',
    })
  })

  test('schema equals the published one', async () => {
    const published = readFileSync(new URL('../config.schema.json', import.meta.url), 'utf8')
    expect(JSON.parse(await printed('config', 'schema'))).toMatchObject({ properties: JSON.parse(published).properties })
  })
})

test('an admin key file that cannot or must not be written is refused before anything is created', async () => {
  const folder = temporaryFolder()
  const dataFolder = join(folder, 'data')
  const refused = async (...flags: string[]) => {
    const { code, stderr } = await sluice(['serve', '--data-folder', dataFolder, '--listen', '127.0.0.1:0', ...flags])
    expect({ code, isMade: existsSync(dataFolder) }).toEqual({ code: 2, isMade: false })
    return stderr
  }
  expect(await refused('--admin-key-file', folder)).toBe(`--admin-key-file ${folder} is a folder: name a file\n`)
  const notes = file('notes.txt', 'do not lose this')
  expect(await refused('--admin-key-file', notes)).toContain('contains something other than an API key of Sluice')
  expect(readFileSync(notes, 'utf8')).toBe('do not lose this')
  expect(await refused('--admin-key-file', join(notes, 'key'))).toContain('cannot be used: ')
  expect(await refused('--show-key')).toBe('--show-key shows the key of a file: name the file with --admin-key-file\n')
})

test('a notice is printed before reading a large YAML file, but not for a small one', async () => {
  const policies = Array.from(
    { length: 4000 },
    (_, i) => `  - { name: p${i}, client: ${'c'.repeat(100)}${i}, rules: 5/minute }\n`,
  )
  const large = file('large.yaml', `policies:\n${policies.join('')}`)
  const { code, stderr } = await sluice(['config', 'validate', '--config', large])
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: `Reading ${large}, 0.6 MB of YAML. JSON would be read many times faster.\n`,
  })
  const refused = await sluice(['policies', 'import', large], { env: { SLUICE_URL: 'http://127.0.0.1:1' } })
  expect(refused.stderr).toContain(`Reading ${large}, 0.6 MB`)
  const small = file('small.yaml', `policies:\n${policies[0]}`)
  expect(await sluice(['config', 'validate', '--config', small])).toMatchObject({ code: 0, stderr: '' })
})

test('top shows rates and denied clients, once without a terminal', async () => {
  await printed('policies', 'set', 'tight', '--client', 'acme', '--rule', '10/hour')
  const checks = Array.from({ length: 40 }, () => JSON.stringify({ client_id: 'acme', route: '/' })).join('\n')
  await sluice(['check', '--file', '-'], { input: checks })
  advance(1000)
  const lines = (await printed('top')).split('\n')
  expect(lines[0]).toContain(`sluice at ${service.address}: ready, counts in memory. Up since 2027-01-15T08:00:19Z.`)
  expect(lines.map((line) => line.replace(/ +/g, ' '))).toEqual(
    expect.arrayContaining(['allowed 10 1 0.2 10', 'denied 30 3 0.5 30', 'tight 10 30 0', 'acme 30']),
  )
  const json = JSON.parse(await printed('top', '--json'))
  expect(json).toMatchObject({ health: { state: 'ready' }, limited: { clients: [{ clientId: 'acme', count: 30 }] } })
})

test('top is redrawn on a terminal until q is pressed', async () => {
  const raw: boolean[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => raw.push(isRaw) })
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 40, rows: 10 })
  let drawn = ''
  stdout.setEncoding('utf8').on('data', (text: string) => {
    drawn += text
    if (drawn.split('\x1b[H').length > 3) stdin.write('q')
  })
  const env = { SLUICE_URL: service.address, SLUICE_API_KEY: service.key }
  const code = await runProgram(['top', '--every', '1s'], { stdin, stdout, stderr: stdout, env, exitCode: 0 })
  expect(code).toBe(0)
  expect(raw).toEqual([true, false])
  expect(drawn.startsWith('\x1b[?1049h')).toBe(true)
  expect(drawn.endsWith('\x1b[?1049l')).toBe(true)
  for (const line of drawn.split('\r\n')) expect(line.split('\x1b')[0].length).toBeLessThanOrEqual(40)
})

test('every command has help with an example', async () => {
  const program = await buildProgram({
    stdin: Readable.from([]),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    env: {},
    exitCode: 0,
  })
  const leaves = program.commands.flatMap((command) =>
    command.commands.length === 0 ? [[command.name()]] : command.commands.map((sub) => [command.name(), sub.name()]),
  )
  expect(leaves.length).toBeGreaterThan(15)
  for (const path of [[], ...leaves]) {
    const { code, stdout } = await sluice([...path, '--help'])
    expect(code).toBe(0)
    expect(stdout).toContain(`Usage: sluice ${path.join(' ')}`.trim())
    expect(stdout, path.join(' ')).toMatch(/Examples:\n {2}\$ .*sluice/)
    if (path.length > 0 && path[0] !== 'serve') expect(stdout).toContain('--json')
  }
})
