// sluice reserve, settle, cancel and extend against the real service.

import { PassThrough, Readable } from 'node:stream'
import { beforeEach, expect, test } from 'vitest'
import { runProgram } from '../src/cli/program.ts'
import { START, startService, type TestService } from './running-service.ts'
import { writtenTo } from './written-to.ts'

let service: TestService
beforeEach(async () => {
  service = await startService()
  const rules = [
    { algorithm: 'fixed-window', limit: 100, window: '1h', name: 'tokens' },
    { algorithm: 'fixed-window', limit: 1000, window: '1h', name: 'money' },
    { algorithm: 'concurrency', limit: 2, ttl: '30s', name: 'places' },
  ]
  await service.call('PUT', '/v1/policies/own', { client: 'acme', rules })
})

async function sluice(...args: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const env = { SLUICE_URL: service.address, SLUICE_API_KEY: service.key }
  const code = await runProgram(args, { stdin: Readable.from(['']), stdout, stderr, env, exitCode: 0 })
  return { code, stdout: writtenTo(stdout), stderr: writtenTo(stderr) }
}

async function used(): Promise<number[]> {
  const { rules } = (await service.call('GET', '/v1/usage?client_id=acme&route=/chat')).body.data
  return rules.map((rule: { used: number }) => rule.used)
}

test('a token is printed, and ends the hold once', async () => {
  const { code, stdout } = await sluice('reserve', 'acme', '/chat', '--hold', 'tokens=40', '--hold', 'money=7', '--ttl', '10s')
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^hold1_\S+\n$/)])
  expect(await used()).toEqual([40, 7, 1])
  expect((await sluice('usage', 'acme', '/chat')).stdout).toMatch(/\n1 open hold, as the answering instance knows them\n$/)
  const token = stdout.trim()
  expect(await sluice('extend', token, '5m')).toEqual({ code: 0, stdout: 'extended\n', stderr: '' })
  expect(await sluice('settle', token, '--used', 'tokens=12')).toEqual({ code: 0, stdout: 'settled\n', stderr: '' })
  expect(await used()).toEqual([12, 7, 0])
  expect(await sluice('cancel', token)).toMatchObject({ code: 4, stderr: expect.stringContaining('settled or cancelled') })
})

test('JSON has the hold, and cancel charges nothing', async () => {
  const reserved = await sluice(
    'reserve',
    'acme',
    '/chat',
    '--hold',
    'tokens=40',
    '--at-least',
    'tokens=5',
    '--cost',
    '3',
    '--expired',
    'release',
    '--json',
  )
  const hold = JSON.parse(reserved.stdout)
  expect(hold).toMatchObject({
    allowed: true,
    granted: { tokens: 40, places: 1 },
    expiresAt: new Date(START + 30_000).toISOString(),
  })
  expect(JSON.parse((await sluice('cancel', hold.token, '--json')).stdout)).toEqual({ done: 'cancelled' })
  expect(await used()).toEqual([0, 3, 0])
})

test('a denial is printed to standard error, with exit code 1', async () => {
  for (let i = 0; i < 2; i++) await sluice('reserve', 'acme', '/chat')
  expect(await sluice('reserve', 'acme', '/chat')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'Deny   0 of 2 left, try again in 30 s\n',
  })
  expect(await sluice('reserve', 'acme', '/chat', '--hold', 'tokens=101')).toMatchObject({
    code: 1,
    stderr: 'Deny   98 of 100 left, the cost is above the limit\n',
  })
})

test('mistakes in the arguments are reported, and nothing is held', async () => {
  const mistakes: readonly (readonly [readonly string[], string])[] = [
    [['reserve', 'acme', '/chat', '--hold', 'x'], "such as 'tokens=4000'"],
    [['reserve', 'acme', '/chat', '--hold', 'tokens=-1'], "such as 'tokens=4000'"],
    [['reserve', 'acme', '/chat', '--hold', '5', '--hold', 'tokens=5'], 'one number, or a number for each rule'],
    [['reserve', 'acme', '/chat', '--hold', '5', '--hold', '6'], 'one number, or a number for each rule'],
    [['reserve', 'acme', '/chat', '--expired', 'lose'], 'charge or release'],
    [['settle'], "missing required argument 'token'"],
  ]
  for (const [args, message] of mistakes) {
    expect(await sluice(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  }
  expect(await used()).toEqual([0, 0, 0])
})

test('a token of somebody else is refused', async () => {
  expect(await sluice('settle', 'hold1_abc_def')).toMatchObject({ code: 4, stderr: expect.stringContaining('another key') })
})
