// `sluice health` asks the service of the configuration, on any address and protocol.

import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../../test/servers/redis-server.mjs'
import { runProgram } from '../src/cli/program.ts'
import { certificate } from './certificate.ts'
import { startService } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { writtenTo } from './written-to.ts'

async function health(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const code = await runProgram(['health', ...args], { stdin: Readable.from([]), stdout, stderr, env, exitCode: 0 })
  return { code, stdout: writtenTo(stdout), stderr: writtenTo(stderr) }
}

const READY = { code: 0, stdout: 'ready, counts in memory\n', stderr: '' }

function configFile(text: string): string {
  const path = join(temporaryFolder(), 'sluice.yaml')
  writeFileSync(path, text)
  return path
}

test('it asks the address of a flag, a variable or a file', async () => {
  const { host } = new URL((await startService()).address)
  expect(await health(['--listen', host])).toEqual(READY)
  expect(await health([], { SLUICE_LISTEN: host })).toEqual(READY)
  const file = configFile(`listen: ${host}\n`)
  expect(await health(['--config', file])).toEqual(READY)
  expect(await health([], { SLUICE_CONFIG: file })).toEqual(READY)
})

test('it asks loopback if the service listens on every address', async () => {
  const { port } = new URL((await startService({ flags: { listen: '0.0.0.0:0' } })).address)
  expect(await health([], { SLUICE_LISTEN: `0.0.0.0:${port}` })).toEqual(READY)
})

test('it uses TLS if the service does, even if the certificate has another name', async () => {
  const { cert, key } = certificate('DNS:sluice.example')
  const tls = { SLUICE_TLS_CERT: cert, SLUICE_TLS_KEY: key }
  const { host } = new URL((await startService({ flags: { tlsCert: cert, tlsKey: key } })).address)
  expect(await health([], { ...tls, SLUICE_LISTEN: host })).toEqual(READY)
  expect(await health([], { SLUICE_LISTEN: host })).toMatchObject({ code: 3 })
})

test('it asks on a socket file, with and without TLS', async () => {
  const listen = `unix:${join(temporaryFolder(), 'plain.sock')}`
  await startService({ flags: { listen } })
  expect(await health(['--listen', listen])).toEqual(READY)
  const { cert, key } = certificate()
  const overTls = `unix:${join(temporaryFolder(), 'tls.sock')}`
  await startService({ flags: { listen: overTls, tlsCert: cert, tlsKey: key } })
  expect(await health(['--listen', overTls, '--tls-cert', cert, '--tls-key', key])).toEqual(READY)
})

test('it sends no key to an address whose certificate it does not verify', async () => {
  const { cert, key } = certificate()
  const seen: string[] = []
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
    seen.push(...request.rawHeaders.map((text) => text.toLowerCase()))
    response.end(JSON.stringify({ meta: {}, data: { state: 'ready', store: 'memory' } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const env = { SLUICE_TLS_CERT: cert, SLUICE_TLS_KEY: key, SLUICE_LISTEN: `127.0.0.1:${port}`, SLUICE_API_KEY: 'sluice_secret' }
  expect(await health([], env)).toEqual(READY)
  expect(seen).toContain('host')
  expect(seen).not.toContain('api-key')
})

test('--url and SLUICE_URL come before the configuration', async () => {
  const { address } = await startService()
  const nobody = { SLUICE_LISTEN: `127.0.0.1:${await freePort()}` }
  expect(await health([], nobody)).toMatchObject({ code: 3 })
  expect(await health([], { ...nobody, SLUICE_URL: address })).toEqual(READY)
  expect(await health(['--url', address], nobody)).toEqual(READY)
})

test('an invalid configuration, or one without a fixed port, is reported', async () => {
  expect(await health(['--listen', 'nowhere'])).toMatchObject({ code: 2, stderr: expect.stringContaining('listen must be') })
  expect(await health(['--listen', '127.0.0.1:0'])).toMatchObject({ code: 2, stderr: expect.stringContaining('--url') })
})

test('policies of the file are not read, since that is slow for many policies', async () => {
  const { host } = new URL((await startService()).address)
  const policies = 'policies:\n- name: a\n  rules: not a rule\n\n  # a remark\n  client: b\n'
  for (const text of [`listen: ${host}\n${policies}`, `${policies}listen: ${host}\n`, `${policies}"listen": ${host}\n`]) {
    expect(await health(['--config', configFile(text)]), text).toEqual(READY)
  }
  // If the policies cannot be cut out, the whole text is parsed.
  expect(await health(['--config', configFile(`{ policies: [{ name: a }],\nlisten: "${host}" }\n`)])).toEqual(READY)
  expect(await health(['--config', configFile(`x: &a 5\n${policies}`)])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(':1:'),
  })
})
