// The built `sluice` command as a process, over real sockets, on every store: from the first start to kill -9.

import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createClient } from 'sluice-client/node'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { roundsOf } from '../../../test/rounds.ts'
import { type RedisServer, startRedis, until } from '../../../test/servers/redis-server.mjs'
import { type SluiceService, sluice, startSluice } from '../../../test/servers/sluice-service.mjs'
import { DATABASE_NAMES, TEST_DATABASES, type TestDatabase } from './databases/test-database.ts'
import { temporaryFolder } from './temporary-folder.ts'

async function started(options?: ConstructorParameters<typeof SluiceService>[0]): Promise<SluiceService> {
  const service = await startSluice(options)
  onTestFinished(() => service.remove())
  return service
}

/** Policies and keys are stored in it, so it is durable. */
const startDurableRedis = () => startRedis('--appendonly', 'yes', '--appendfsync', 'always')

async function redisStarted(): Promise<RedisServer> {
  const redis = await startDurableRedis()
  onTestFinished(() => redis.stop())
  return redis
}

function clientOf(service: SluiceService) {
  const client = createClient({ url: service.url, apiKey: service.key, failure: { timeoutMs: 5000 } })
  onTestFinished(() => client.close())
  return client
}

/** A limit whose window cannot end during a test. */
const HOURLY = { algorithm: 'fixed-window', limit: 5, window: '1h' } as const

/** A long timeout: on a busy machine the fallback counters would look like errors. */
const PATIENT = ['--failure-timeout-ms', '10000']

test('it starts, decides, denies at the limit, applies new policies and keys immediately, and stops', async () => {
  const service = await started()
  expect(await service.sluice('health')).toEqual({ code: 0, stdout: 'ready, counts in memory\n', stderr: '' })

  expect((await service.sluice('policies', 'set', 'tight', '--client', 'acme', '--rule', '3/hour')).code).toBe(0)
  for (const left of [2, 1, 0]) {
    const { code, stdout } = await service.sluice('check', 'acme', '/v1/orders')
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`Allow  ${left} of 3 left`) })
  }
  const denied = await service.sluice('check', 'acme', '/v1/orders')
  expect(denied).toMatchObject({ code: 1, stdout: expect.stringMatching(/^Deny {3}0 of 3 left, try again in \d+ min\n$/) })

  await service.sluice('policies', 'set', 'tight', '--rule', '4/hour')
  expect(await service.sluice('check', 'acme', '/v1/orders')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('0 of 4 left'),
  })
  expect((await service.sluice('reset', 'acme', '/v1/orders')).code).toBe(0)
  const usage = JSON.parse((await service.sluice('usage', 'acme', '/v1/orders', '--json')).stdout)
  expect(usage).toMatchObject({ policy: 'tight', allowed: true, rules: [{ limit: 4, used: 0, remaining: 4 }] })

  const made = JSON.parse((await service.sluice('keys', 'create', 'shop', '--expires', '1d', '--json')).stdout)
  const env = { SLUICE_URL: service.url, SLUICE_API_KEY: made.secret }
  expect((await sluice(['check', 'acme', '/v1/orders'], { env })).code).toBe(0)
  const refused = await sluice(['policies', 'list'], { env })
  expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining('this needs a key with the scope read') })
  expect((await service.sluice('keys', 'revoke', made.id)).code).toBe(0)
  expect(await sluice(['check', 'acme', '/v1/orders'], { env })).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('SLUICE_API_KEY'),
  })

  expect(await service.stop()).toBe(0)
  expect(await sluice(['check', 'acme', '/'], { env })).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('Is it running?'),
  })
})

describe.each(['memory', ...DATABASE_NAMES] as const)('on the %s store', (store) => {
  let database: TestDatabase | undefined
  let service: SluiceService
  beforeAll(async () => {
    if (store !== 'memory') database = await TEST_DATABASES[store]({ isDurable: true })
    service = await startSluice({ args: database ? ['--store', database.store, ...PATIENT] : [] })
  })
  afterAll(async () => {
    await service?.remove()
    await database?.stop()
  })

  // The first test of the service, because it compares the numbers since the start.
  test('a stampede of clients with batches lets exactly the limit through', async () => {
    const clients = Array.from({ length: 4 }, () => clientOf(service))
    await clients[0].policies.put({
      name: 'hundred',
      client: 'herd',
      rules: { algorithm: 'fixed-window', limit: 100, window: '1h' },
    })
    const checks = clients.flatMap((client) => Array.from({ length: 100 }, () => client.check({ clientId: 'herd', route: '/' })))
    const decisions = await Promise.all(checks)
    expect(decisions.filter(({ allowed }) => allowed).length).toBe(100)
    for (const { allowed, retryAfterMs } of decisions) {
      if (allowed) expect(retryAfterMs).toBe(0)
      else expect(retryAfterMs).toBeGreaterThan(3_000_000)
    }
    const top = await Promise.all([clients[0].stats({ seconds: 60 }), clients[0].top()])
    expect(top[0].sinceStart).toMatchObject({ allowed: 100, denied: 300, errors: 0 })
    expect(top[1].clients).toMatchObject([{ clientId: 'herd', count: 300, error: 0 }])
  })

  test('a restart keeps policies, keys and usage', async () => {
    const client = clientOf(service)
    await client.policies.put({ name: 'tight', client: 'acme', rules: HOURLY })
    const { secret } = await client.keys.create({ name: 'shop', scopes: ['check', 'read'] })
    for (let i = 0; i < 3; i++) await client.check({ clientId: 'acme', route: '/' })
    expect(await service.stop()).toBe(0)

    await service.start()
    const again = createClient({ url: service.url, apiKey: secret })
    onTestFinished(() => again.close())
    expect(await again.policies.get('tight')).toMatchObject({ client: 'acme', source: 'api' })
    expect(await again.usage({ clientId: 'acme', route: '/' })).toMatchObject({ rules: [{ used: 3, remaining: 2 }] })
    const decisions = await Promise.all([1, 2, 3].map(() => again.check({ clientId: 'acme', route: '/' })))
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false])
  })

  test('SIGTERM under load: every counted check was answered', async () => {
    const wide = { algorithm: 'fixed-window', limit: 1_000_000, window: '1h' } as const
    await clientOf(service).policies.put({ name: 'wide', client: 'busy', rules: wide })
    const { key, url } = service
    let answered = 0
    let isStopping = false
    const caller = async (): Promise<void> => {
      while (true) {
        if (await isAnswered(url, key, { client_id: 'busy', route: '/' })) answered += 1
        else if (isStopping) return
      }
    }
    const callers = Array.from({ length: 16 }, caller)
    await until('some checks', async () => answered > 200)
    isStopping = true
    expect(await service.stop()).toBe(0)
    await Promise.all(callers)
    await service.start()
    const usage = await clientOf(service).usage({ clientId: 'busy', route: '/' })
    expect(usage.rules[0].used).toBe(answered)
  })
})

describe('kill -9', () => {
  test('loses no acknowledged policy or key, and starts again from its files', async () => {
    const service = await started({ args: ['--log-level', 'warn'] })
    const policies = new Map<string, number>()
    const keys: string[] = []
    const rounds = roundsOf({ usual: 4, long: 10 })
    for (let round = 0; round < rounds; round++) {
      const client = createClient({ url: service.url, apiKey: service.key, failure: { timeoutMs: 5000 } })
      let isOver = false
      const change = async (worker: number): Promise<void> => {
        for (let i = 0; !isOver; i++) {
          const name = `p-${worker}-${i % 5}`
          const limit = round * 1_000_000 + i * 10 + worker + 1
          try {
            await client.policies.put({ name, client: name, rules: { algorithm: 'fixed-window', limit, window: '1h' } })
            policies.set(name, limit)
            if (i % 10 === 0)
              keys.push((await client.keys.create({ name: `k-${round}-${worker}-${i}`, scopes: ['check'] })).secret)
          } catch (error) {
            if (!isOver) throw error
          }
        }
      }
      const workers = [0, 1, 2, 3].map(change)
      const enough = policies.size
      await until('some changes', async () => keys.length >= (round + 1) * 4 && policies.size >= enough)
      isOver = true
      await service.kill()
      await Promise.all(workers)
      client.close()
      await service.start()
    }
    const client = clientOf(service)
    for (const [name, limit] of policies) {
      const [rule] = [(await client.policies.get(name)).rules].flat()
      // A change that was being written during the kill may be there as well. Then it is newer.
      expect((rule as { limit: number }).limit, name).toBeGreaterThanOrEqual(limit)
    }
    for (const secret of keys) {
      expect((await service.call('POST', '/v1/check', { client_id: 'a', route: '/' }, { 'api-key': secret })).status).toBe(200)
    }
    expect(keys.length).toBeGreaterThanOrEqual(rounds * 4)
  })
})

interface Pair {
  readonly redis: RedisServer
  readonly one: SluiceService
  readonly other: SluiceService
}

/** Two instances on one Redis. The first instance to start has created the only key. */
async function startPair(...more: string[]): Promise<Pair> {
  const redis = await startDurableRedis()
  const args = ['--store', `redis://127.0.0.1:${redis.port}`, ...more]
  const one = await startSluice({ args })
  const other = await startSluice({ args })
  writeFileSync(other.keyFile, one.key)
  return { redis, one, other }
}

async function removePair({ redis, one, other }: Pair): Promise<void> {
  await Promise.all([one.remove(), other.remove()])
  await redis.stop()
}

describe('two instances on one Redis', () => {
  let pair: Pair
  beforeAll(async () => {
    pair = await startPair(...PATIENT)
  })
  afterAll(() => pair && removePair(pair))

  test('share every limit exactly', async () => {
    const { one, other } = pair
    expect(other.stderr).not.toContain('The admin key is in')
    const clients = [one, other].map(clientOf)
    await clients[0].policies.put({
      name: 'shared',
      client: 'herd',
      rules: ['100/hour', { algorithm: 'token-bucket', capacity: 90, refill: 1, every: '1d' }],
    })
    await until('the policy on the other instance', async () => (await clients[1].policies.get('shared')).name === 'shared')
    const checks = Array.from({ length: 300 }, (_, i) => clients[i % 2].check({ clientId: 'herd', route: '/' }))
    const decisions = await Promise.all(checks)
    expect(decisions.filter(({ allowed }) => allowed).length).toBe(90)
    for (const client of clients) {
      const { rules } = await client.usage({ clientId: 'herd', route: '/' })
      expect(rules.map(({ used }) => used)).toEqual([90, 90])
    }
  })

  test('a policy, a key and a revocation are in force on the other within a second', async () => {
    const { one, other } = pair
    const [client, there] = [one, other].map(clientOf)
    const took: number[] = []
    const arrives = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
      const startMs = performance.now()
      await until(what, holds, 5000)
      took.push(performance.now() - startMs)
    }
    await client.policies.put({ name: 'tight', client: 'acme', rules: '1/hour' })
    await arrives('the policy', async () => (await there.usage({ clientId: 'acme', route: '/' })).policy === 'tight')
    const { key, secret } = await client.keys.create({ name: 'shop', scopes: ['check'] })
    const check = { client_id: 'acme', route: '/' }
    const status = async () => (await other.call('POST', '/v1/check', check, { 'api-key': secret })).status
    await arrives('the key', async () => (await status()) === 200)
    await client.keys.revoke(key.id)
    await arrives('the revocation', async () => (await status()) === 401)
    await client.policies.delete('tight')
    await arrives('the deletion', async () => (await there.usage({ clientId: 'acme', route: '/' })).policy === 'default')
    // On a machine that is busy with other tests, one of them may be late.
    expect(took.filter((ms) => ms < 1000).length).toBeGreaterThanOrEqual(3)
  })

  test('Redis is killed: each instance decides by itself, reports it, and recovers', async () => {
    const own = await startPair()
    onTestFinished(() => removePair(own))
    const { redis, one, other } = own
    const client = clientOf(one)
    await client.policies.put({ name: 'tight', client: 'acme', rules: '3/hour' })
    expect((await client.check({ clientId: 'acme', route: '/' })).remaining).toBe(2)

    await redis.kill()
    const decisions = []
    for (let i = 0; i < 6; i++) decisions.push(await client.check({ clientId: 'acme', route: '/' }))
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false, false])
    for (const service of [one, other]) {
      await until('it is degraded', async () => (await service.call('GET', '/readyz')).body.data.state === 'degraded')
    }
    expect((await one.call('GET', '/readyz')).status).toBe(200)
    expect((await one.call('GET', '/livez')).status).toBe(200)
    const metrics: string = (await one.call('GET', '/metrics')).body
    expect(metrics).toMatch(/^sluice_store_up\S* 0$/m)
    expect(metrics).toMatch(/^sluice_fallback_decisions_total\S* [1-9]/m)
    await expect(client.policies.put({ name: 'other', client: 'x', rules: '1/hour' })).rejects.toMatchObject({ status: 503 })

    await redis.start()
    for (const service of [one, other]) {
      await until('it is ready again', async () => {
        await service.call('POST', '/v1/check', { client_id: 'probe', route: '/' })
        return (await service.call('GET', '/readyz')).body.data.state === 'ready'
      })
    }
    expect((await one.call('GET', '/metrics')).body).toMatch(/^sluice_store_up\S* 1$/m)
  })

  test('with failure mode throw there is no fallback, and that is reported', async () => {
    const redis = await redisStarted()
    const one = await started({ args: ['--store', `redis://127.0.0.1:${redis.port}`, '--failure-mode', 'throw'] })
    await redis.kill()
    const client = clientOf(one)
    await expect(client.check({ clientId: 'acme', route: '/' })).rejects.toMatchObject({ code: 'ERR_STORE', status: 503 })
    const fallback = createClient({ url: one.url, apiKey: one.key, failure: { then: 'allow', timeoutMs: 5000 } })
    onTestFinished(() => fallback.close())
    expect(await fallback.check({ clientId: 'acme', route: '/' })).toMatchObject({
      allowed: true,
      source: 'fallback',
      error: { code: 'ERR_STORE' },
    })
    await until('it is not ready', async () => (await one.call('GET', '/readyz')).status === 503)
    expect(await one.sluice('health')).toMatchObject({ code: 4, stdout: 'store-down, counts in redis\n' })
  })
})

describe('starting', () => {
  test('the first start creates one admin key, in a file that only its owner can read', async () => {
    const service = await started()
    expect(statSync(service.keyFile).mode & 0o777).toBe(0o600)
    expect(service.stderr).toContain(`The admin key is in ${service.keyFile}.`)
    expect(service.stdout + service.stderr).not.toContain(service.key)
    const { key } = service
    await service.stop()
    await service.start()
    expect(service.key).toBe(key)
    expect(service.stderr).toContain(`The admin key is in ${service.keyFile}.`)
  })

  test('without a file the key is printed once, and the printed command works', async () => {
    const service = await started({ keepsKey: false })
    const [secret] = /sluice_\S+/.exec(service.stderr) ?? []
    expect(service.stderr).toContain('The admin key, shown only now:')
    const line = /^ {2}(curl .*)$/m.exec(service.stderr)?.[1] ?? ''
    expect(line).toContain(`Api-Key: ${secret}`)
    expect(JSON.parse(await shell(line))).toMatchObject({ data: { status: 'Allow', limit: 100, remain: 99 } })
    await service.stop()
    await service.start()
    expect(service.stderr).not.toContain(secret)
    expect(service.stderr).toContain('"Api-Key: $SLUICE_API_KEY"')
  })

  test('a folder or a port in use is refused, with a hint, and no key is created', async () => {
    const service = await started()
    const second = await sluice(['serve', '--listen', '127.0.0.1:0', '--data-folder', service.dataFolder])
    expect(second.code).toBe(1)
    expect(second.stderr).toMatch(/is in use by process \d+ .*: stop it, or use another folder/)
    expect(second.stderr).not.toMatch(/\n\s+at /)

    const port = new URL(service.url).port
    const dataFolder = join(service.folder, 'other')
    const third = await sluice(['serve', '--listen', port, '--data-folder', dataFolder])
    expect(third).toMatchObject({
      code: 1,
      stderr: `127.0.0.1:${port} is in use by another process: choose another with --listen\n`,
    })
    const apart = ['--listen', '127.0.0.1:0', '--admin-listen', port]
    const fourth = await sluice(['serve', ...apart, '--data-folder', dataFolder])
    expect(fourth.stderr).toMatch(/ is in use by another process: choose another with --admin-listen\n$/)
    // The next start is still the first one, so it creates a key.
    const next = await started({ keepsKey: false, args: ['--data-folder', dataFolder] })
    expect(next.stderr).toContain('The admin key, shown only now:')
  })

  test('a first start without Redis announces that the admin key comes later, and then prints it', async () => {
    const redis = await redisStarted()
    await redis.kill()
    const args = ['--store', `redis://127.0.0.1:${redis.port}`]
    const service = await started({ keepsKey: false, args })
    await until('it says what to expect', async () => service.stderr.includes('Try it:'))
    expect(service.stderr).toContain(
      'Redis does not answer. If this is the first start, the admin key will be printed here when the service is ready.',
    )
    expect(service.stderr).not.toContain('was given at the first start')
    await redis.start()
    await until('the key is printed', async () => /shown only now:\n\n {2}sluice_\w+/.test(service.stderr))
  })

  test('administration can have its own listener', async () => {
    const service = await started({ args: ['--admin-listen', '127.0.0.1:0', '--log-level', 'info'] })
    await until('the first line of the log', async () => service.stdout.includes('\n'))
    const { adminAddress } = JSON.parse(service.stdout.split('\n')[0])
    expect((await service.call('GET', '/v1/policies')).status).toBe(404)
    expect((await service.call('POST', '/v1/check', { client_id: 'a', route: '/' })).status).toBe(200)
    const env = { ...service.clientEnv, SLUICE_URL: adminAddress }
    expect((await sluice(['policies', 'list'], { env })).code).toBe(0)
  })

  test('it can listen on a socket file', async () => {
    const socket = join(temporaryFolder(), 'sluice.sock')
    const service = await started({ args: ['--listen', `unix:${socket}`] })
    expect(service.url).toBe(`unix:${socket}`)
    expect((await service.sluice('check', 'acme', '/')).code).toBe(0)
    expect(JSON.parse(await shell(/^ {2}(curl .*)$/m.exec(service.stderr)?.[1] ?? ''))).toMatchObject({
      data: { status: 'Allow' },
    })
    await service.stop()
    expect(existsSync(socket)).toBe(false)
  })

  test('a configuration file is applied, watched, and kept in its last valid form', async () => {
    const path = join(temporaryFolder(), 'sluice.yaml')
    writeFileSync(path, 'policies:\n  - { name: gold, client: acme, rules: 7/hour }\n')
    const service = await started({ args: ['--config', path] })
    const client = clientOf(service)
    const limit = async () => (await client.usage({ clientId: 'acme', route: '/' })).rules[0].limit
    expect(await limit()).toBe(7)
    writeFileSync(path, 'policies:\n  - { name: gold, client: acme, rules: 8/hour }\n')
    await until('the new file', async () => (await limit()) === 8, 3000)
    writeFileSync(path, 'policies:\n  - { name: gold, client: acme, ruls: 9/hour }\n')
    await until('the complaint', async () => service.stdout.includes('ruls'), 3000)
    expect(await limit()).toBe(8)
    expect(await service.sluice('policies', 'set', 'gold', '--mode', 'off')).toMatchObject({ code: 4 })
  })
})

test('SIGTERM in the middle of a request: it is answered, and no new request is accepted', async () => {
  const service = await started()
  const { hostname, port } = new URL(service.url)
  const body = JSON.stringify({ client_id: 'acme', route: '/v1/orders' })
  const socket = connect(Number(port), hostname)
  onTestFinished(() => {
    socket.destroy()
  })
  let answer = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text
  })
  const head = ['POST /v1/check HTTP/1.1', 'Host: sluice', `Api-Key: ${service.key}`, 'Content-Type: application/json']
  socket.write(`${[...head, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n${body.slice(0, 10)}`)
  await until('the request to be under way', async () => (await service.call('GET', '/livez')).status === 200)
  const stopped = service.stop()
  await until('the listener to be closed', () =>
    fetch(service.url).then(
      () => false,
      () => true,
    ),
  )
  socket.write(body.slice(10))
  expect(await stopped).toBe(0)
  expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n/)
  expect(answer).toContain('"status":"Allow"')
})

test('no key is ever in the log', async () => {
  const service = await started({ args: ['--log-level', 'trace'] })
  const { secret } = await clientOf(service).keys.create({ name: 'shop', scopes: ['check'] })
  await service.call(
    'POST',
    '/v1/check',
    { client_id: secret, route: '/' },
    { authorization: `Bearer ${secret}`, 'api-key': secret },
  )
  await service.call('GET', `/v1/policies/${secret}`)
  await service.stop()
  expect(service.stdout.length).toBeGreaterThan(100)
  expect(service.stdout + service.stderr).not.toContain(secret)
  expect(service.stdout + service.stderr).not.toContain(readFileSync(service.keyFile, 'utf8').trim())
})

/** True if a check, on a connection of its own, was decided. */
function isAnswered(url: string, key: string, body: unknown): Promise<boolean> {
  return new Promise((resolve) => {
    const text = JSON.stringify(body)
    const headers = { 'api-key': key, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
    const asked = request(`${url}/v1/check`, { method: 'POST', headers, agent: false }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode === 200))
      response.on('error', () => resolve(false))
    })
    asked.on('error', () => resolve(false))
    asked.end(text)
  })
}

test('--version loads little more than the parser of the command line', async () => {
  // Node's coverage report lists every script that was loaded.
  const folder = temporaryFolder()
  const { code, stdout } = await sluice(['--version'], { env: { NODE_V8_COVERAGE: folder } })
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
  const reports = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
  const urls: string[] = reports.flatMap(({ result }) => result.map(({ url }: { url: string }) => url))
  const loaded = urls.filter((url) => url.startsWith('file:'))
  expect(loaded.filter((url) => url.includes('/cli/'))).toContainEqual(expect.stringMatching(/\/cli\/program\.js$/))
  expect(loaded.filter((url) => /\/(commands|api|config)\/|serve\.js|node_modules\/(?!commander\/)/.test(url))).toEqual([])
  expect(loaded.length).toBeLessThan(20)
})

async function shell(line: string): Promise<string> {
  return (await promisify(execFile)('sh', ['-c', line])).stdout
}
