// The built service as a process: signals, certificates, and Redis setups with several processes.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { freePort, RedisServer, redisCli, startRedis, until } from '../../../test/servers/redis-server.mjs'
import { certificate } from './certificate.ts'
import { callService } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'

const SCRIPT = fileURLToPath(new URL('./serve-process.mjs', import.meta.url))

interface Running {
  readonly child: ChildProcess
  readonly address: string
  readonly key: string
  readonly lines: readonly string[]
  /** Resolves to the exit code and signal of the process. */
  readonly ended: Promise<number | string>
}

/** Starts the service. Options are environment variables without the prefix SLUICE_. */
async function start(options: Record<string, string>, key = ''): Promise<Running> {
  const settings = Object.fromEntries(
    Object.entries(options).map(([name, value]) => [name.startsWith('NODE') ? name : `SLUICE_${name}`, value]),
  )
  const env = { PATH: process.env.PATH, SLUICE_LISTEN: '127.0.0.1:0', SLUICE_LOG_LEVEL: 'warn', ...settings }
  const child = spawn(process.execPath, [SCRIPT], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const ended = once(child, 'exit').then(([code, signal]) => code ?? signal)
  const lines: string[] = []
  const said = (word: string): string | undefined => lines.find((line) => line.startsWith(`${word} `))?.slice(word.length + 1)
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => lines.push(line))
  await until('the service to listen', async () => said('address') !== undefined || child.exitCode !== null)
  return { child, address: said('address') as string, key: said('key') ?? key, lines, ended }
}

const COMMAND = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))

const CHECK = { client_id: 'ada', route: '/a' }

test('SIGTERM stops with exit code 0 and saves the counters for the next start', async () => {
  const options = { DATA_FOLDER: temporaryFolder() }
  const first = await start(options)
  await callService(first.address, first.key, 'PUT', '/v1/policies/tight', { client: 'ada', rules: '5/hour' })
  await callService(first.address, first.key, 'POST', '/v1/check', CHECK)
  first.child.kill('SIGTERM')
  expect(await first.ended).toBe(0)
  expect(first.lines.at(-1)).toBe('stopped')
  const second = await start(options, first.key)
  expect(second.lines.filter((line) => line.startsWith('key'))).toEqual([])
  const { body } = await callService(second.address, second.key, 'POST', '/v1/check', CHECK)
  expect(body.data).toMatchObject({ limit: 5, remain: 3 })
})

test('killed with -9 it loses the counters and nothing else', async () => {
  const options = { DATA_FOLDER: temporaryFolder() }
  const first = await start(options)
  await callService(first.address, first.key, 'PUT', '/v1/policies/tight', { client: 'ada', rules: '5/hour' })
  await callService(first.address, first.key, 'POST', '/v1/check', CHECK)
  first.child.kill('SIGKILL')
  expect(await first.ended).toBe('SIGKILL')
  const second = await start(options, first.key)
  const { body } = await callService(second.address, second.key, 'POST', '/v1/check', CHECK)
  expect(body.data).toMatchObject({ limit: 5, remain: 4 })
})

test('SIGHUP writes a line to the log, and the service keeps running', async () => {
  const { child, address, key, lines } = await start({ DATA_FOLDER: temporaryFolder(), LOG_LEVEL: 'info' })
  child.kill('SIGHUP')
  await until('the line', async () => lines.some((line) => line.includes('nothing to reload')))
  expect((await callService(address, key, 'GET', '/livez')).status).toBe(200)
})

test('a second signal ends it immediately, even with open requests', async () => {
  const { child, address, key, ended } = await start({ DATA_FOLDER: temporaryFolder() })
  // A request that never ends delays a stop.
  const { hostname, port } = new URL(address)
  const { connect } = await import('node:net')
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(
    `POST /v1/check HTTP/1.1\r\nHost: x\r\nApi-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{`,
  )
  await until('it to be under way', async () => (await callService(address, key, 'GET', '/livez')).status === 200)
  const startMs = performance.now()
  child.kill('SIGTERM')
  await until('it to drain', async () => (await callService(address, key, 'GET', '/readyz')).status === 503)
  child.kill('SIGTERM')
  expect(await ended).toBe(1)
  expect(performance.now() - startMs).toBeLessThan(5000)
})

/** `sluice serve` while it waits for a Redis that does not answer. */
async function starting(folder: string) {
  const store = `redis://127.0.0.1:${await freePort()}`
  const command = [COMMAND, 'serve', '--listen', '127.0.0.1:0', '--store', store, '--data-folder', folder]
  const child = spawn(process.execPath, command, { env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const ended = once(child, 'exit').then(([code, signal]) => code ?? signal)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += text
    })
  }
  const locks = () => readdirSync(folder).filter((name) => name.startsWith('lock-'))
  await until('the lock', async () => locks().length > 0)
  return { child, ended, locks, output: () => output }
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s during the start ends it with 0, before it listens, and without its lock',
  async (signal) => {
    const { child, ended, locks, output } = await starting(temporaryFolder())
    child.kill(signal)
    expect(await ended).toBe(0)
    expect(locks()).toEqual([])
    expect(output()).toContain('stopped before it was started')
    expect(output()).not.toMatch(/listening|"level":(50|"error")/)
  },
)

test('SIGHUP during the start is handled after it', async () => {
  const { child, ended, output } = await starting(temporaryFolder())
  child.kill('SIGHUP')
  await until(
    'the line',
    async () => output().includes('nothing to reload') || child.exitCode !== null || child.signalCode !== null,
  )
  expect(output()).toMatch(/listening.*nothing to reload/s)
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
})

test('rediss:// uses TLS to Redis', async () => {
  const { cert, key } = certificate()
  const tlsPort = await freePort()
  const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert, '--tls-auth-clients', 'no']
  const redis = await startRedis('--tls-port', String(tlsPort), ...files)
  onTestFinished(() => redis.stop())
  const options = {
    STORE: `rediss://127.0.0.1:${tlsPort}`,
    FAILURE_MODE: 'throw',
    FAILURE_TIMEOUT_MS: '5000',
    NODE_EXTRA_CA_CERTS: cert,
  }
  const service = await start(options)
  const { body } = await callService(service.address, service.key, 'POST', '/v1/check', CHECK)
  expect(body.data).toMatchObject({ status: 'Allow', remain: 99 })
  expect(Number(await redis.cli('DBSIZE'))).toBeGreaterThan(2)
})

test('sentinels tell the address of Redis, also after a failover', async () => {
  const primary = await startRedis()
  const replica = new RedisServer(await freePort(), ['--replicaof', '127.0.0.1', String(primary.port)])
  onTestFinished(async () => {
    await Promise.all([primary.stop(), replica.stop()])
  })
  await replica.start()
  const sentinelPort = await freePort()
  const folder = temporaryFolder()
  const file = join(folder, 'sentinel.conf')
  const watch = [
    `port ${sentinelPort}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor limits 127.0.0.1 ${primary.port} 1`,
    'sentinel down-after-milliseconds limits 1000',
    'sentinel failover-timeout limits 5000',
  ]
  writeFileSync(file, `${watch.join('\n')}\n`)
  const sentinel = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' })
  onTestFinished(() => {
    sentinel.kill('SIGKILL')
  })
  await until(
    'the sentinel to know the replica',
    async () => (await redisCli(sentinelPort, 'SENTINEL', 'replicas', 'limits')).includes(`${replica.port}`),
    20_000,
  )
  const service = await start({ STORE: `redis-sentinel://127.0.0.1:${sentinelPort}/limits`, FAILURE_TIMEOUT_MS: '1000' })
  const call = (method: string, path: string, body?: unknown) => callService(service.address, service.key, method, path, body)
  await call('PUT', '/v1/policies/tight', { client: 'ada', rules: '50/hour' })
  expect((await call('POST', '/v1/check', CHECK)).body.data).toMatchObject({ limit: 50, remain: 49 })
  await until('the replica to have it', async () => Number(await replica.cli('DBSIZE')) === Number(await primary.cli('DBSIZE')))
  await primary.kill()
  await until(
    'the new primary to count',
    async () => {
      await call('POST', '/v1/check', CHECK)
      const { state } = (await call('GET', '/readyz')).body.data
      return (
        state === 'ready' &&
        (await redisCli(sentinelPort, 'SENTINEL', 'get-master-addr-by-name', 'limits')).includes(`${replica.port}`)
      )
    },
    25_000,
  )
  expect((await call('POST', '/v1/check', CHECK)).body.data.limit).toBe(50)
  expect((await call('PUT', '/v1/policies/tight', { client: 'ada', rules: '60/hour' })).status).toBe(200)
})
