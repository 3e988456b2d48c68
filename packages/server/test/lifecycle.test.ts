// Starting, stopping and restarting: what is kept, finished and refused.

import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { Agent, get, request } from 'node:http'
import { get as getTls } from 'node:https'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { MOST_SOCKET_BYTES } from '../src/config/addresses.ts'
import { loadConfig } from '../src/config/config.ts'
import { makeLogger } from '../src/log/logger.ts'
import { serve } from '../src/serve.ts'
import { certificate } from './certificate.ts'
import { advance, callService, startService } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'

describe('a restart', () => {
  test('keeps policies, keys and, after a planned stop, counters', async () => {
    const folder = temporaryFolder()
    const first = await startService({ folder })
    await first.call('PUT', '/v1/policies/tight', { client: 'ada', rules: '5/hour' })
    await first.call('POST', '/v1/check', { client_id: 'ada', route: '/a', cost: 3 })
    await first.close()
    const second = await startService({ folder, key: first.key })
    expect(second.key).toBe(first.key)
    expect((await second.call('POST', '/v1/check', { client_id: 'ada', route: '/a' })).body.data).toMatchObject({
      limit: 5,
      remain: 1,
    })
    await second.close()
    advance(3_600_000)
    const third = await startService({ folder, key: first.key })
    expect((await third.call('POST', '/v1/check', { client_id: 'ada', route: '/a' })).body.data).toMatchObject({
      limit: 5,
      remain: 4,
    })
  })

  test('only the first start creates a key', async () => {
    const folder = temporaryFolder()
    const onFirstKey = vi.fn()
    const first = await startService({ folder, onFirstKey })
    await first.close()
    const second = await startService({ folder, onFirstKey })
    expect(onFirstKey).toHaveBeenCalledTimes(1)
    await second.close()
  })

  test('a second service on the same folder is refused', async () => {
    const { folder } = await startService()
    await expect(startService({ folder })).rejects.toThrow('is in use by process')
  })
})

describe('a stop', () => {
  test('answers not ready first, and finishes open requests', async () => {
    const service = await startService({ flags: { drainDelay: '300ms' } })
    const { hostname, port } = new URL(service.address)
    const body = JSON.stringify({ client_id: 'ada', route: '/a' })
    const headers = { 'api-key': service.key, 'content-type': 'application/json', 'content-length': body.length }
    const half = request({ hostname, port, method: 'POST', path: '/v1/check', headers })
    const answered = new Promise<{ status: number | undefined; connection: string | undefined }>((resolve, reject) => {
      half.on('response', (response) => {
        response.resume()
        resolve({ status: response.statusCode, connection: response.headers.connection })
      })
      half.on('error', reject)
    })
    half.write(body.slice(0, 10))
    await pause(50)
    const stopped = service.close()
    const ready = await callService(service.address, service.key, 'GET', '/readyz')
    expect(ready.status).toBe(503)
    expect(ready.body).toMatchObject({
      meta: { code: 503, status: 'error', error: 'ERR_NOT_READY', message: 'The service is starting or stopping.' },
      data: { state: 'draining' },
    })
    expect((await callService(service.address, service.key, 'GET', '/livez')).status).toBe(200)
    await pause(400)
    half.end(body.slice(10))
    // It began before the stop, so it has no Connection: close.
    expect((await answered).status).toBe(200)
    await stopped
    await expect(callService(service.address, service.key, 'GET', '/livez')).rejects.toThrow()
  })

  test('new connections are accepted and answered during the drain delay, with Connection: close', async () => {
    const service = await startService({ flags: { drainDelay: '2s' } })
    const stopped = service.close()
    const fresh = () => answerOn(service, new Agent({ keepAlive: true }))
    for (let i = 0; i < 3; i++) expect(await fresh()).toEqual({ status: 200, connection: 'close' })
    await stopped
    await expect(fresh()).rejects.toThrow('ECONNREFUSED')
  })

  test('a request on an idle connection is answered even after the service has stopped listening', async () => {
    const service = await startService({ flags: { drainDelay: '1s' } })
    const kept = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => kept.destroy())
    expect(await answerOn(service, kept)).toEqual({ status: 200, connection: 'keep-alive' })
    const stopped = service.close()
    const isRefused = () =>
      answerOn(service, new Agent()).then(
        () => false,
        (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
      )
    while (!(await isRefused())) await pause(5)
    expect(await answerOn(service, kept)).toEqual({ status: 200, connection: 'close' })
    await stopped
  })

  test('under load loses nothing: clients send until they get Connection: close, and every request is answered and counted', async () => {
    const service = await startService({ flags: { drainDelay: '300ms' } })
    await service.call('PUT', '/v1/policies/default', { rules: '1000000/hour' })
    const { hostname, port } = new URL(service.address)
    const agent = new Agent({ keepAlive: true, maxSockets: 16 })
    const body = JSON.stringify({ client_id: 'ada', route: '/a' })
    const headers = { 'api-key': service.key, 'content-type': 'application/json', 'content-length': body.length }
    let allowed = 0
    /** Returns false after Connection: close. */
    const ask = (): Promise<boolean> =>
      new Promise((resolve, reject) => {
        const sent = request({ hostname, port, agent, method: 'POST', path: '/v1/check', headers }, (response) => {
          response.resume()
          if (response.statusCode === 200) allowed += 1
          response.on('end', () => resolve(response.headers.connection !== 'close'))
        })
        sent.on('error', reject)
        sent.end(body)
      })
    const clients = Array.from({ length: 16 }, async () => {
      while (await ask());
    })
    while (allowed < 200) await pause(5)
    await service.close()
    await Promise.all(clients)
    agent.destroy()
    const again = await startService({ folder: service.folder, key: service.key })
    const { rules } = (await again.call('GET', '/v1/usage?client_id=ada&route=/a')).body.data
    expect(rules[0].used).toBe(allowed)
  })
})

/** Sends a request through an agent. Returns the status, and true if the connection is kept. */
function answerOn(service: { readonly address: string }, agent: Agent): Promise<unknown> {
  return new Promise((resolve, reject) => {
    get(`${service.address}/livez`, { agent }, (response) => {
      response.resume()
      resolve({ status: response.statusCode, connection: response.headers.connection })
    }).on('error', reject)
  })
}

describe('listeners', () => {
  test('administration can have its own listener, and health is on both', async () => {
    const { address, adminAddress, key } = await startService({ flags: { adminListen: '127.0.0.1:0' } })
    expect(address).not.toBe(adminAddress)
    const status = async (where: string, method: string, path: string, body?: unknown) =>
      (await callService(where, key, method, path, body)).status
    const check = { client_id: 'a', route: '/a' }
    expect(await status(address, 'POST', '/v1/check', check)).toBe(200)
    expect(await status(address, 'POST', '/v1/refund', check)).toBe(200)
    for (const path of ['/v1/policies', '/v1/keys', '/v1/audit', '/v1/stats', '/metrics', '/openapi.json', '/docs']) {
      expect(await status(address, 'GET', path), path).toBe(404)
      expect(await status(adminAddress, 'GET', path), path).toBe(200)
    }
    expect(await status(adminAddress, 'POST', '/v1/check', check)).toBe(404)
    for (const where of [address, adminAddress]) {
      for (const path of ['/livez', '/readyz']) expect(await status(where, 'GET', path)).toBe(200)
    }
  })

  test('a public address without keys is refused, by the configuration and by the service itself', async () => {
    const flags = { listen: '0.0.0.0:0', dataFolder: temporaryFolder(), keysRequired: 'false', logLevel: 'silent' }
    await expect(loadConfig({ flags })).rejects.toThrow('no API key is required')
    const { config } = await loadConfig({ flags: { ...flags, listen: '127.0.0.1:0' } })
    await expect(serve({ config: { ...config, listen: { host: '0.0.0.0', port: 0 } } })).rejects.toThrow(
      'others can reach 0.0.0.0:0',
    )
  })

  test('without keys on loopback, anybody may do everything, and no key is created', async () => {
    const onFirstKey = vi.fn()
    const { call } = await startService({ flags: { keysRequired: 'false' }, onFirstKey })
    expect((await call('GET', '/v1/keys', undefined, { 'api-key': '' })).body.data.keys).toEqual([])
    expect(onFirstKey).not.toHaveBeenCalled()
  })

  test('a socket file works as well', async () => {
    const socket = join(temporaryFolder(), 'sluice.sock')
    const { address } = await startService({ flags: { listen: `unix:${socket}` } })
    expect(address).toBe(`unix:${socket}`)
    const status = await new Promise((resolve) =>
      get({ socketPath: socket, path: '/livez' }, (response) => resolve(response.resume().statusCode)),
    )
    expect(status).toBe(200)
  })

  test('a socket file of a killed process is replaced, but one in use is not', async () => {
    const socket = join(temporaryFolder(), 'sluice.sock')
    const left = spawnSync(process.execPath, [
      '-e',
      `require('net').createServer().listen('${socket}', () => process.kill(process.pid, 'SIGKILL'))`,
    ])
    expect(left.signal).toBe('SIGKILL')
    expect(existsSync(socket)).toBe(true)
    await startService({ flags: { listen: `unix:${socket}` } })
    await expect(startService({ flags: { listen: `unix:${socket}` } })).rejects.toThrow('is in use by another process')
  })

  test('a socket file in a folder that does not exist, or in a file, is refused with the name of the folder', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'file')
    writeFileSync(file, '')
    const started = (socket: string) => startService({ flags: { listen: `unix:${socket}` } })
    const missing = join(folder, 'missing')
    await expect(started(join(missing, 'a.sock'))).rejects.toMatchObject({
      code: 'ERR_CONFIG',
      message: `cannot listen on unix:${join(missing, 'a.sock')}: the folder ${missing} does not exist`,
    })
    await expect(started(join(file, 'a.sock'))).rejects.toMatchObject({
      code: 'ERR_CONFIG',
      message: expect.stringContaining(`${file} is not a folder`),
    })
  })

  test('a socket file works up to the maximum length of the system', async () => {
    const folder = temporaryFolder()
    const socket = join(folder, 'x'.repeat(MOST_SOCKET_BYTES - Buffer.byteLength(folder) - 1))
    await startService({ flags: { listen: `unix:${socket}` } })
    expect(existsSync(socket)).toBe(true)
  })

  test('another file at the place of the socket is refused and kept, whatever its kind', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'notes.txt')
    writeFileSync(file, 'notes')
    symlinkSync(file, join(folder, 'link'))
    mkdirSync(join(folder, 'folder'))
    for (const name of ['notes.txt', 'link', 'folder']) {
      const started = startService({ flags: { listen: `unix:${join(folder, name)}` } })
      await expect(started, name).rejects.toMatchObject({ code: 'ERR_CONFIG', message: expect.stringContaining('not a socket') })
    }
    expect(readFileSync(file, 'utf8')).toBe('notes')
    expect(lstatSync(join(folder, 'link')).isSymbolicLink()).toBe(true)
  })

  test('TLS with certificate files, which are reloaded on demand', async () => {
    const folder = temporaryFolder()
    const make = (name: string): string => {
      const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
      const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')]
      execFileSync('openssl', [...args, ...files, '-subj', `/CN=${name}`], { stdio: 'ignore' })
      return name
    }
    make('first.example')
    const flags = { tlsCert: join(folder, 'cert.pem'), tlsKey: join(folder, 'key.pem') }
    const service = await startService({ flags })
    const { hostname, port } = new URL(service.address)
    const seen = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const sent = getTls({ hostname, port, path: '/livez', rejectUnauthorized: false, agent: false }, (response) => {
          response.resume()
          const { subject } = (response.socket as import('node:tls').TLSSocket).getPeerCertificate()
          resolve(`${response.statusCode} ${subject.CN}`)
        })
        sent.on('error', reject)
      })
    expect(service.address).toMatch(/^https:/)
    expect(await seen()).toBe('200 first.example')
    make('second.example')
    await service.reload()
    expect(await seen()).toBe('200 second.example')
    writeFileSync(join(folder, 'cert.pem'), 'nonsense')
    await expect(service.reload()).rejects.toThrow()
    expect(await seen()).toBe('200 second.example')
  })
})

test('the policies of a configuration file are in force, and follow the file', async () => {
  const config = join(temporaryFolder(), 'sluice.yaml')
  const write = (limit: number) =>
    writeFileSync(config, `policies:\n  - name: from-file\n    client: ada\n    rules: ${limit}/hour\n`)
  write(5)
  const service = await startService({ flags: { config } })
  const limit = async () => (await service.call('POST', '/v1/check', { client_id: 'ada', route: '/a' })).body.data.limit
  expect(await limit()).toBe(5)
  write(7)
  await service.reload()
  expect(await limit()).toBe(7)
  writeFileSync(config, 'policies: nonsense')
  await service.reload()
  expect(await limit()).toBe(7)
  expect((await service.call('GET', '/metrics')).body).toContain('sluice_config_last_reload_success 0\n')
  expect((await service.call('PUT', '/v1/policies/from-file', { client: 'ada', rules: '1/s' })).body.meta.error).toBe(
    'ERR_POLICY_FROM_FILE',
  )
})

describe('a reload', () => {
  /** A service that logs to a list. Returns the lines that a reload adds. */
  const reloading = async (flags: Record<string, string> = {}) => {
    const lines: string[] = []
    const logger = makeLogger('info', { write: (line: string) => lines.push(line) })
    const service = await startService({ logger, flags })
    return async () => {
      lines.length = 0
      await service.reload().catch(() => {})
      return lines.map((line) => JSON.parse(line))
    }
  }

  test('without anything to read logs that', async () => {
    const reload = await reloading()
    expect(await reload()).toEqual([expect.objectContaining({ level: 'info', msg: expect.stringMatching(/^nothing to reload/) })])
  })

  test('logs the certificate and the file that were read', async () => {
    const { cert, key } = certificate()
    const config = join(temporaryFolder(), 'sluice.yaml')
    writeFileSync(config, 'policies: [{ name: a, client: b, rules: 5/hour }]\n')
    const reload = await reloading({ tlsCert: cert, tlsKey: key, config })
    expect(await reload()).toEqual([
      expect.objectContaining({ level: 'info', certificate: cert, validTo: expect.any(String) }),
      expect.objectContaining({ level: 'info', msg: 'the configuration file was read', policies: 1 }),
    ])
    writeFileSync(cert, 'nonsense')
    expect(await reload()).toEqual([
      expect.objectContaining({ level: 'error', certificate: cert, msg: expect.stringContaining('stays in use') }),
      expect.objectContaining({ level: 'info', msg: 'the configuration file was read' }),
    ])
  })
})

test('no secret reaches the log', async () => {
  const lines: string[] = []
  const logger = makeLogger('trace', { write: (line: string) => lines.push(line) })
  const service = await startService({ logger })
  const { secret } = (await service.call('POST', '/v1/keys', { name: 'shop', scopes: ['check'] })).body.data
  await service.call('POST', '/v1/check', { client_id: secret, route: '/a' }, { 'api-key': secret })
  await service.call('GET', `/nope/${secret}`)
  logger.error({ err: new Error(`refused ${secret}`), headers: { 'api-key': secret, authorization: `Bearer ${secret}` } }, secret)
  logger.info(
    { store: 'redis://user:hunter2@localhost:6379', password: 'hunter2', nested: { secret: 'hunter2' } },
    'rediss://:hunter2@host',
  )
  await service.close()
  expect(lines.length).toBeGreaterThan(3)
  const log = lines.join('')
  expect(log).not.toContain(secret)
  expect(log).not.toContain(service.key)
  expect(log).not.toContain('hunter2')
  expect(log).toContain(secret.slice(0, 19))
  expect(log).toContain('"path":"/v1/check"')
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ level: expect.any(String), time: expect.any(String) })
})

test('a first start prints the key once, to standard output and to nothing else', async () => {
  const folder = temporaryFolder()
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const { config } = await loadConfig({
    flags: { listen: '127.0.0.1:0', dataFolder: folder, logLevel: 'silent', drainDelay: '0s' },
  })
  const running = await serve({ config })
  await running.close()
  const printed = write.mock.calls.map(([text]) => String(text)).join('')
  write.mockRestore()
  expect(printed).toMatch(/^ {2}sluice_\w+$/m)
  const secret = /sluice_\w+/.exec(printed)?.[0] as string
  for (const file of ['journal.jsonl', 'audit-000001.jsonl'])
    expect(readFileSync(join(folder, file), 'utf8')).not.toContain(secret)
})
