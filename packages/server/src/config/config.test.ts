import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { type ConfigSources, loadConfig } from './config.ts'
import { publishedSchema } from './config-file.ts'
import { flagOf, flags, OPTION_NAMES, OPTIONS, variableOf } from './options.ts'
import { printableConfig, printConfig } from './print-config.ts'

function fileOf(text: string, name = 'sluice.yaml'): string {
  const path = join(temporaryFolder(), name)
  writeFileSync(path, text)
  return path
}

async function messageOf(sources: ConfigSources): Promise<string> {
  const error = await loadConfig(sources).then(
    () => undefined,
    (reason) => reason,
  )
  expect(error).toMatchObject({ code: 'ERR_CONFIG' })
  return error.message
}

describe('a value', () => {
  test('is the default if it is not set', async () => {
    const { config, written, file } = await loadConfig()
    expect(config).toEqual({
      listen: { host: '127.0.0.1', port: 8080 },
      adminListen: undefined,
      resp: undefined,
      dataFolder: './sluice-data',
      store: { kind: 'memory' },
      maxKeys: 1_000_000,
      maxHolds: 1000,
      keysRequired: true,
      insecureAllowUnauthenticated: false,
      tlsCert: undefined,
      tlsKey: undefined,
      failureMode: 'local',
      failureTimeoutMs: 100,
      failureMaxKeys: 1_000_000,
      retryWithinMs: undefined,
      logLevel: 'info',
      trustedProxies: [],
      drainDelay: 250,
      fastChecks: true,
      rls: undefined,
      rlsClientCa: undefined,
      rlsAllOrNothing: false,
      rlsConnectionAge: 86_400_000,
    })
    expect(new Set(Object.values(written).map(({ origin }) => origin))).toEqual(new Set(['default']))
    expect(file).toBeUndefined()
  })

  test('comes from flag before environment before file before default, with its origin', async () => {
    const path = fileOf('listen: 127.0.0.1:1\ndataFolder: one\nlogLevel: warn\n')
    const env = { SLUICE_CONFIG: path, SLUICE_LISTEN: '127.0.0.1:2', SLUICE_DATA_FOLDER: 'two' }
    const { config, written } = await loadConfig({ env, flags: { listen: '127.0.0.1:3' } })
    expect(config).toMatchObject({ listen: { port: 3 }, dataFolder: 'two', logLevel: 'warn', maxKeys: 1_000_000 })
    expect([written.listen, written.dataFolder, written.logLevel, written.maxKeys].map(({ origin }) => origin)).toEqual([
      'flag --listen',
      'environment SLUICE_DATA_FOLDER',
      `file ${path}`,
      'default',
    ])
  })

  test('has the same meaning in a flag, a variable, YAML and JSON', async () => {
    const written = {
      listen: '[::1]:9000',
      adminListen: 'unix:/tmp/admin.sock',
      resp: '127.0.0.1:6380',
      dataFolder: '/var/lib/sluice',
      store: 'redis://a:1,redis://b:2',
      maxKeys: 5000,
      maxHolds: 50,
      keysRequired: false,
      insecureAllowUnauthenticated: true,
      tlsCert: 'cert.pem',
      tlsKey: 'key.pem',
      failureMode: 'deny',
      failureTimeoutMs: 50,
      failureMaxKeys: 2000,
      retryWithinMs: 3_600_000,
      logLevel: 'silent',
      trustedProxies: ['10.0.0.0/8', '::1'],
      drainDelay: '5s',
      fastChecks: false,
      rls: '127.0.0.1:8081',
      rlsClientCa: 'ca.pem',
      rlsAllOrNothing: true,
      rlsConnectionAge: '1h',
    }
    expect(Object.keys(written)).toEqual(OPTION_NAMES)
    const text = Object.entries(written).map(([name, value]) => [name, String(value)])
    const flags = Object.fromEntries(text)
    const env = Object.fromEntries(text.map(([name, value]) => [variableOf(name), value]))
    const yaml = fileOf(
      Object.entries(written)
        .map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
        .join(''),
    )
    const json = fileOf(JSON.stringify(written), 'sluice.json')
    const configs = await Promise.all(
      [{ flags }, { env }, { flags: { config: yaml } }, { env: { SLUICE_CONFIG: json } }].map(loadConfig),
    )
    for (const { config } of configs) expect(config).toEqual(configs[0].config)
    expect(configs[0].config).toMatchObject({ keysRequired: false, trustedProxies: ['10.0.0.0/8', '::1'], drainDelay: 5000 })
  })

  test('of a flag without a value is true; an empty list is empty', async () => {
    expect((await loadConfig({ flags: { keysRequired: true } })).config.keysRequired).toBe(true)
    expect((await loadConfig({ env: { SLUICE_TRUSTED_PROXIES: '' } })).config.trustedProxies).toEqual([])
  })
})

describe('problems are reported with the origin of the value', () => {
  test.each<[ConfigSources, string | RegExp]>([
    [{ flags: { listen: 'nowhere' } }, /^listen must be an address such as '127.0.0.1:8080'.*, got "nowhere" \(flag --listen\)$/],
    [
      { env: { SLUICE_MAX_KEYS: '-5' } },
      'maxKeys must be a whole number from 1 to 50000000, got "-5" (environment SLUICE_MAX_KEYS)',
    ],
    ...['5', '1h', '11m', '-1s', '1.5s', ''].map((drainDelay): [ConfigSources, RegExp] => [
      { flags: { drainDelay } },
      /^drainDelay must be a time such as '0s', .*\(flag --drain-delay\)$/,
    ]),
    [{ env: { SLUICE_MAX_KEYS: '1e3' } }, /^maxKeys must be a whole number/],
    [
      { env: { SLUICE_KEYS_REQUIRED: 'yes' } },
      'keysRequired must be true or false, got "yes" (environment SLUICE_KEYS_REQUIRED)',
    ],
    [{ flags: { logLevel: 'wran' } }, /got "wran": did you mean warn\? \(flag --log-level\)$/],
    [{ flags: { listen: true } }, /^listen must be .*, got true \(flag --listen\)$/],
    [
      { flags: { trustedProxies: '10.0.0.0/8,proxy' } },
      /^trustedProxies must be a list, each an address .*, got 10\.0\.0\.0\/8,proxy/,
    ],
    [{ flags: { store: 'redis://u:secret@' } }, /^store must be .*, got "redis:\/\/u:\*\*\*@" \(flag --store\)$/],
    [{ flags: { lsiten: '1' } }, 'no flag is called --lsiten: did you mean --listen?'],
    [{ env: { SLUICE_LISTN: '1' } }, 'no option is set by SLUICE_LISTN: did you mean SLUICE_LISTEN?'],
    [{ env: { SLUICE_KEYS_REQUIRE: 'false' } }, /did you mean SLUICE_KEYS_REQUIRED\?/],
    [{ flags: { tlsCert: 'x' } }, 'tlsCert is given without tlsKey: TLS needs both'],
    [{ flags: { tlsKey: 'x' } }, 'tlsKey is given without tlsCert: TLS needs both'],
    [{ flags: { adminListen: '8080' } }, /^adminListen is 127\.0\.0\.1:8080, the same as listen/],
    [{ flags: { config: '/nowhere/sluice.yaml' } }, /^the configuration file \/nowhere\/sluice\.yaml cannot be read: ENOENT/],
    [{ flags: { listen: 'x:y', logLevel: 'loud' } }, /\(and 1 more\)$/],
  ])('%j', async (sources, message) => {
    expect(await messageOf(sources)).toMatch(message)
  })

  test('other variables are ignored, such as those that Kubernetes sets', async () => {
    const env = {
      SLUICE_PORT: 'tcp://10.0.0.1:8080',
      SLUICE_SERVICE_HOST: '10.0.0.1',
      SLUICE_SERVICE_PORT: '8080',
      SLUICE_PORT_8080_TCP_PROTO: 'tcp',
      SLUICE_API_KEY: 'x',
      SLUICE_URL: 'x',
      PATH: '/bin',
    }
    await expect(loadConfig({ env })).resolves.toBeDefined()
  })
})

describe('an address that others can reach', () => {
  test('is refused without keys, for checks and for administration', async () => {
    for (const flags of [{ listen: '0.0.0.0:8080' }, { adminListen: '[::]:9090' }]) {
      expect(await messageOf({ flags: { ...flags, keysRequired: 'false' } })).toMatch(
        /which others can reach, and no API key is required: set keysRequired, listen on 127\.0\.0\.1, or set insecureAllowUnauthenticated/,
      )
      await loadConfig({ flags })
      await loadConfig({ flags: { ...flags, keysRequired: 'false', insecureAllowUnauthenticated: true } })
    }
    await loadConfig({ flags: { keysRequired: 'false', listen: 'unix:/tmp/x' } })
  })
})

test('a socket path that is longer than the system accepts is refused, measured in bytes', async () => {
  const most = process.platform === 'linux' ? 107 : 103
  const path = `/${'é'.repeat((most - 1) / 2)}`
  await loadConfig({ flags: { listen: `unix:${path}`, adminListen: `unix:/${'x'.repeat(most - 1)}` } })
  for (const option of ['listen', 'adminListen']) {
    expect(await messageOf({ flags: { [option]: `unix:${path}x` } })).toBe(
      `${option} is a socket file whose path has ${most + 1} bytes: this system takes at most ${most}`,
    )
  }
})

describe('a file', () => {
  test('has policies, which are read with the source file', async () => {
    const config = fileOf(`
policies:
  - name: search
    client: acme*
    route: /v1/search
    rules: [10/second, { algorithm: token-bucket, capacity: 20, refill: 5, every: 1s, name: burst }]
  - { name: default, rules: 50/minute, mode: shadow }
`)
    const { file } = await loadConfig({ flags: { config } })
    expect(file?.policies.map(({ name, source, mode }) => [name, source, mode])).toEqual([
      ['search', 'file', 'enforce'],
      ['default', 'file', 'shadow'],
    ])
  })

  test.each([
    ['listn: 5\n', /:1: it has no "listn": did you mean listen\?$/],
    ['logLevel: info\nmaxKeys: 0\n', /:2: maxKeys must be a whole number from 1 to 50000000, got 0$/],
    ['config: other.yaml\n', /it has no "config"/],
    [
      'policies:\n  - name: a\n    client: x\n    rules:\n      - 5/minute\n      - 5/minut\n',
      /:6: policies\[0\]\.rules\[1\]: no unit is called "minut"/,
    ],
    [
      'policies:\n  - name: a\n    rules: 5/minute\n',
      /:2: the policy "a" needs a client or a route, .*: the one for all clients and routes is called default$/,
    ],
    [
      'policies:\n  - {name: a, client: x, rules: 1/s}\n\n  - {name: a, client: y, rules: 1/s}\n',
      /:4: policies\[1\] has the name of policies\[0\]$/,
    ],
    [
      `policies:\n${Array.from({ length: 17 }, (_, i) => `  - {name: g${i}, applies: always, rules: 1/s}\n`).join('')}`,
      /:2: policies\[0\]: 16 policies with applies: always join every request of "g0" already, and 16 are the maximum/,
    ],
    ['policies:\n  - client: x\n', /:2: policies\[0\]\.name is missing: /],
    ['policies: {}\n', /:1: policies must be a list of policies, got an object$/],
    ['- 1\n', /:1: it must be .*, got a list$/],
    ['a: [1\n', /:\d: is not YAML: /],
    ['listen: a\nlisten: b\n', /:2: is not YAML: Map keys must be unique/],
    ['__proto__: { listen: x }\n', /it has no "__proto__"/],
    ['a: &a [1]\nb: *c\n', /cannot be read: Unresolved alias/],
  ])('%j is refused with its line', async (text, message) => {
    expect(await messageOf({ flags: { config: fileOf(text) } })).toMatch(message)
  })

  test('that expands without bound when it is parsed is refused', async () => {
    const laughs = Array.from({ length: 12 }, (_, i) => `l${i + 1}: &l${i + 1} [${`*l${i}, `.repeat(9)}*l${i}]`)
    const message = await messageOf({ flags: { config: fileOf(['l0: &l0 lol', ...laughs, ''].join('\n')) } })
    expect(message).toMatch(/Excessive alias count/)
  })

  test('of invalid JSON is refused; an empty file is valid', async () => {
    expect(await messageOf({ flags: { config: fileOf('{ "listen": ', 'x.json') } })).toMatch(/x\.json is not JSON: /)
    expect((await loadConfig({ flags: { config: fileOf('# nothing\n') } })).config.maxKeys).toBe(1_000_000)
  })

  test('with many policies is read in reasonable time', async () => {
    const policies = Array.from({ length: 20_000 }, (_, i) => ({ name: `p${i}`, client: `c${i}`, rules: '5/minute' }))
    const config = fileOf(JSON.stringify({ policies }), 'many.json')
    expect((await loadConfig({ flags: { config } })).file?.policies).toHaveLength(20_000)
  })
})

test('the published schema is generated from the table; after a change, run packages/server/scripts/write-config-schema.mjs', () => {
  const published = readFileSync(new URL('../../config.schema.json', import.meta.url), 'utf8')
  expect(published).toBe(publishedSchema())
  expect(Object.keys(JSON.parse(published).properties)).toEqual(['$schema', ...OPTION_NAMES, 'policies'])
})

test('the reference of options equals the table', () => {
  const reference = readFileSync(new URL('../../../../docs/reference/configuration.md', import.meta.url), 'utf8')
  const rows = [...reference.matchAll(/^\| `(\w+)` +\| (.+?) +\| `(.+?)` +\| `(.+?)` +\| (.+?) +\|$/gm)]
  const expected = OPTION_NAMES.map((name) => {
    const { default: written, about } = OPTIONS[name]
    const fallback = written === undefined || `${written}` === '' ? 'none' : `\`${written}\``
    return [name, fallback, flagOf(name), variableOf(name), expect.stringContaining(about)]
  })
  expect(rows.map(([, ...cells]) => cells)).toEqual(expected)
})

describe('printed configuration', () => {
  test('has every option with value and origin, and no password', async () => {
    const path = fileOf('logLevel: warn\npolicies: [{ name: a, client: x, rules: 1/s }]\n')
    const loaded = await loadConfig({ flags: { config: path, store: 'redis://u:secret@a:1' }, env: { SLUICE_MAX_KEYS: '7' } })
    const text = printConfig(loaded)
    expect(text).toMatch(/^listen: "127\.0\.0\.1:8080" +# default$/m)
    expect(text).toMatch(/^# adminListen: +# default$/m)
    expect(text).toMatch(/^store: "redis:\/\/u:\*\*\*@a:1" +# flag --store$/m)
    expect(text).toMatch(/^maxKeys: 7 +# environment SLUICE_MAX_KEYS$/m)
    expect(text).toMatch(/^trustedProxies: \[\] +# default$/m)
    expect(text).toContain(`# file ${path}`)
    expect(text).toContain(`# and 1 policies from ${path}`)
    expect(JSON.stringify(printableConfig(loaded))).not.toContain('secret')
    expect(printableConfig(loaded).map(({ name }) => name)).toEqual(OPTION_NAMES)
  })

  test('can be used as a file again', async () => {
    const first = await loadConfig({ flags: { maxKeys: '7', trustedProxies: '::1', keysRequired: 'false' } })
    const again = await loadConfig({ flags: { config: fileOf(printConfig(first)) } })
    expect(again.config).toEqual(first.config)
  })
})

test('every option has a flag, a variable and a line of help', () => {
  expect(flagOf('insecureAllowUnauthenticated')).toBe('--insecure-allow-unauthenticated')
  expect(variableOf('failureTimeoutMs')).toBe('SLUICE_FAILURE_TIMEOUT_MS')
  expect(flags().map(({ name }) => name)).toEqual(['config', ...OPTION_NAMES])
  const help = new Map(flags().map(({ name, usage, about }) => [name, `${usage} ${about}`]))
  expect(help.get('dataFolder')).toBe(
    '--data-folder <path> The folder for policies, keys and the audit log. [SLUICE_DATA_FOLDER, default ./sluice-data]',
  )
  expect(help.get('keysRequired')).toMatch(/^--keys-required \[true\|false\] .*default true\]$/)
  expect(help.get('logLevel')).toContain('One of fatal, error, warn, info, debug, trace, silent.')
  for (const { about } of Object.values(OPTIONS)) expect(about).toMatch(/\.$/)
})
