// Real clients against the real door.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createClient } from '@redis/client'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { certificate } from '../certificate.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { startResp } from './resp-service.ts'

const run = promisify(execFile)

describe('ioredis', () => {
  test('connects with an API key, throttles, checks and pipelines in order', async () => {
    const { port, key } = await startResp()
    const redis = new Redis({ port, password: key, connectionName: 'orders', maxRetriesPerRequest: 0 })
    onTestFinished(() => redis.disconnect())
    expect(await redis.call('CL.THROTTLE', 'user123', 15, 30, 60)).toEqual([0, 16, 15, -1, 2])
    expect(await redis.call('SLUICE.CHECK', 'ada', '/v1/orders')).toEqual(
      expect.arrayContaining(['status', 'Allow', 'limit', 100, 'remain', 99]),
    )
    expect(await redis.client('GETNAME')).toBe('orders')
    const many = redis.pipeline()
    for (let i = 0; i < 100; i++) many.call('CL.THROTTLE', 'many', 49, 1, 3600)
    const answers = (await many.exec()) ?? []
    expect(answers.map(([error]) => error)).toEqual(Array(100).fill(null))
    expect(answers.map(([, answer]) => (answer as number[])[2])).toEqual(
      Array.from({ length: 100 }, (_, i) => Math.max(0, 49 - i)),
    )
    await expect(redis.call('GET', 'x')).rejects.toThrow("ERR unknown command 'GET', with args beginning with: 'x' ")
    expect(await redis.quit()).toBe('OK')
  })

  test('is told that its key is wrong', async () => {
    const { port } = await startResp()
    const redis = new Redis({ port, password: 'wrong', retryStrategy: () => null, maxRetriesPerRequest: 0 })
    const errors: string[] = []
    redis.on('error', ({ message }) => errors.push(message))
    onTestFinished(() => redis.disconnect())
    await expect(redis.call('CL.THROTTLE', 'a', 1, 1, 1)).rejects.toThrow()
    expect(errors.join()).toContain('WRONGPASS')
  })
})

describe('node-redis', () => {
  test.each([2, 3] as const)('speaks RESP%i', async (RESP) => {
    const { port, key } = await startResp()
    const client = createClient({ RESP, url: `redis://default:${key}@127.0.0.1:${port}/0`, name: 'orders' })
    await client.connect()
    onTestFinished(() => client.destroy())
    expect(await client.sendCommand(['CL.THROTTLE', 'user123', '0', '1', '2'])).toEqual([0, 1, 0, -1, 2])
    expect(await client.sendCommand(['CL.THROTTLE', 'user123', '0', '1', '2'])).toEqual([1, 1, 0, 2, 2])
    const checked = await client.sendCommand(['SLUICE.CHECK', 'ada', '/', '100'])
    const fields = { status: 'Allow', limit: 100, remain: 0 }
    if (RESP === 2) expect(checked).toEqual(expect.arrayContaining(Object.entries(fields).flat()))
    else expect(Object.fromEntries(Object.entries(checked as object))).toMatchObject(fields)
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.sendCommand(['CL.THROTTLE', 'b', '9', '1', '60'])))
    expect(answers.map((answer) => (answer as unknown as number[])[0])).toEqual([...Array(10).fill(0), ...Array(10).fill(1)])
    expect(await client.ping()).toBe('PONG')
  })

  test('connects over TLS', async () => {
    const { cert, key: tlsKey } = certificate()
    const { port, key, addresses } = await startResp({ flags: { tlsCert: cert, tlsKey } })
    expect(addresses.at(-1)).toBe(`rediss://127.0.0.1:${port}`)
    const client = createClient({ url: `rediss://:${key}@127.0.0.1:${port}`, socket: { tls: true, rejectUnauthorized: false } })
    await client.connect()
    onTestFinished(() => client.destroy())
    expect(await client.sendCommand(['CL.THROTTLE', 'a', '15', '30', '60'])).toEqual([0, 16, 15, -1, 2])
  })
})

describe('programs of Redis', () => {
  test('redis-cli: answers, errors, RESP3, a socket file', async () => {
    const path = `${temporaryFolder()}/resp.sock`
    const { key, addresses } = await startResp({ flags: { resp: `unix:${path}` } })
    expect(addresses.at(-1)).toBe(`unix:${path}`)
    const cli = async (...args: string[]) =>
      (await run('redis-cli', ['-s', path, '--pass', key, '--no-auth-warning', ...args])).stdout
    expect(await cli('CL.THROTTLE', 'user123', '15', '30', '60')).toBe('0\n16\n15\n-1\n2\n')
    expect(await cli('cl.throttle', 'user123', 'x', '30', '60')).toBe("Cell error: Couldn't parse as integer: x\n\n")
    expect(await cli('-3', '--no-raw', 'SLUICE.CHECK', 'ada', '/')).toContain('"status" => "Allow"')
    expect(await cli('COMMAND', 'COUNT')).toMatch(/^\d+\n$/)
    expect((await run('redis-cli', ['-s', path, 'PING'])).stdout).toBe('NOAUTH Authentication required.\n\n')
  })

  test('redis-benchmark: every command of a deep pipeline is answered', async () => {
    const { port, key, call } = await startResp()
    const args = ['-p', String(port), '-a', key, '-P', '64', '-n', '20000', '-r', '1000', '-q', '--csv']
    const { stdout } = await run('redis-benchmark', [...args, 'CL.THROTTLE', 'key:__rand_int__', '15', '30', '60'], {
      timeout: 60_000,
    })
    expect(stdout).toContain('CL.THROTTLE')
    const { body } = await call('GET', '/metrics')
    expect(Number(/sluice_door_commands_total\{door="resp"\} (\d+)/.exec(body)?.[1])).toBeGreaterThanOrEqual(20_000)
    expect(body).toMatch(/sluice_checks_total\{policy="\(CL.THROTTLE\)",outcome="allow",reason="within"\} \d+/)
  })
})
