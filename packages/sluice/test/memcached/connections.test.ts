// Ways to reach a server: TCP, a socket file, TLS, a password. Each on a real memcached.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { MemcachedServer, startMemcached } from '../../../../test/servers/memcached-server.mjs'
import { until } from '../../../../test/servers/redis-server.mjs'
import { createLimiter, fixedWindow, type SluiceError } from '../../src/index.ts'
import { type MemcachedStoreOptions, memcachedStore } from '../../src/stores/memcached/index.ts'

const RULE = fixedWindow({ limit: 2, window: '1h' })

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-memcached-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function start(...args: string[]): Promise<MemcachedServer> {
  const server = await startMemcached(...args)
  onTestFinished(() => server.stop())
  return server
}

/** Results of three hits: `allowed`, `denied`, or the error. */
async function threeHits(options: MemcachedStoreOptions, timeoutMs = 5000): Promise<readonly string[]> {
  const store = memcachedStore(options)
  onTestFinished(() => store.close())
  const limiter = createLimiter({ rules: RULE, store, failure: { timeoutMs, failures: 1000 } })
  const outcomes = []
  for (let i = 0; i < 3; i++) {
    outcomes.push(
      await limiter.hit('ada').then(
        ({ allowed }) => (allowed ? 'allowed' : 'denied'),
        ({ code, message }: SluiceError) => `${code} ${message}`,
      ),
    )
  }
  return outcomes
}

const LIMITED = ['allowed', 'allowed', 'denied']

test('a socket file', async () => {
  const path = join(temporaryFolder(), 'memcached.sock')
  const server = new MemcachedServer(0, ['-s', path])
  onTestFinished(() => server.stop())
  await server.start()
  expect(await threeHits({ servers: [`unix:${path}`] })).toEqual(LIMITED)
})

test('a host name', async () => {
  const { port } = await start()
  expect(await threeHits({ servers: [`localhost:${port}`] })).toEqual(LIMITED)
})

describe('a password', () => {
  async function guarded(): Promise<MemcachedServer> {
    const file = join(temporaryFolder(), 'passwords')
    writeFileSync(file, 'ada:correct-horse\nbob:battery\n')
    return start('-Y', file)
  }

  test('the right one opens the server', async () => {
    const { address } = await guarded()
    expect(await threeHits({ servers: [address], auth: { username: 'bob', password: 'battery' } })).toEqual(LIMITED)
  })

  test('a wrong one is fatal, and no error contains it', async () => {
    const { address } = await guarded()
    const outcomes = await threeHits({ servers: [address], auth: { username: 'bob', password: 'wrong-staple' } })
    for (const outcome of outcomes) expect(outcome).toMatch(/^ERR_STORE_FATAL .*authentication failure/)
    expect(outcomes.join()).not.toContain('staple')
  })

  test('none at all is fatal', async () => {
    const { address } = await guarded()
    for (const outcome of await threeHits({ servers: [address] })) expect(outcome).toMatch(/^ERR_STORE_FATAL .*unauthenticated/)
  })

  test('one that the server does not ask for writes nothing that stays', async () => {
    const { address } = await start()
    expect(await threeHits({ servers: [address], auth: { username: 'bob', password: 'battery' } })).toEqual(LIMITED)
  })
})

describe('TLS', () => {
  function certificate(): { readonly cert: string; readonly key: string } {
    const folder = temporaryFolder()
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
    const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
    execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert, ...names], { stdio: 'ignore' })
    return { cert, key }
  }

  async function encrypted() {
    const { cert, key } = certificate()
    const server = new MemcachedServer(0, ['-Z', '-o', `ssl_chain_cert=${cert},ssl_key=${key}`])
    onTestFinished(() => server.stop())
    await server.start()
    return { address: server.address, ca: readFileSync(cert, 'utf8') }
  }

  test('with the certificate of the server', async () => {
    const { address, ca } = await encrypted()
    expect(await threeHits({ servers: [address], tls: { ca } })).toEqual(LIMITED)
  })

  test('with a certificate that nobody trusts, nothing is sent', async () => {
    const { address } = await encrypted()
    for (const outcome of await threeHits({ servers: [address], tls: true }, 200)) {
      expect(outcome).toMatch(/^ERR_STORE_REFUSED .*self-signed certificate/)
    }
  })

  test('options that Node refuses are fatal', async () => {
    const { address } = await start()
    const outcomes = await threeHits({ servers: [address], tls: { minVersion: 'TLSv9' as 'TLSv1.3' } })
    for (const outcome of outcomes) expect(outcome).toMatch(/^ERR_STORE_FATAL .*TLSv9/)
  })

  test('a store without TLS gets no connection', async () => {
    const { address } = await encrypted()
    const [outcome] = await threeHits({ servers: [address], connectTimeoutMs: 300 }, 500)
    expect(outcome).toMatch(/^ERR_STORE_REFUSED/)
  })
})

test('an idle connection does not keep the process alive', async () => {
  const { address } = await start()
  const program = `
    import { createLimiter, parseRule } from 'sluice'
    import { memcachedStore } from 'sluice/memcached'
    const limiter = createLimiter({ rules: parseRule('5/minute'), store: memcachedStore({ servers: ['${address}'] }) })
    console.log((await limiter.hit('ada')).remaining)
  `
  const startMs = performance.now()
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8', timeout: 10_000 })
  expect(printed).toBe('4\n')
  expect(performance.now() - startMs).toBeLessThan(8000)
})

test('a store that is closed refuses calls, and closes its connection', async () => {
  const server = await start()
  const store = memcachedStore({ servers: [server.address] })
  const limiter = createLimiter({ rules: RULE, store, failure: { timeoutMs: 100 } })
  await limiter.hit('ada')
  const connections = async () => Number((await server.stats()).curr_connections)
  const before = await connections()
  await store.close()
  await until('the connection to close', async () => (await connections()) === before - 1, 2000)
  await expect(limiter.hit('ada')).rejects.toMatchObject({ code: 'ERR_STORE_REFUSED' })
})
