// A store that answers later, and one that fails: order, and no wrong allowance in any failure mode.

import { describe, expect, onTestFinished, test } from 'vitest'
import { startRedis } from '../../../../test/servers/redis-server.mjs'
import { command, startResp } from './resp-service.ts'

async function setUp(failureMode: string) {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const flags = { store: `redis://127.0.0.1:${redis.port}`, failureMode, failureTimeoutMs: '2000' }
  return { redis, ...(await startResp({ flags })) }
}

const limitedOf = (lines: readonly string[]): string[] => lines.filter((_, i) => i % 6 === 1)

describe('on Redis', () => {
  test('replies keep the order of their commands, among those that need no store', async () => {
    const { open } = await setUp('throw')
    const bare = await open()
    const sent = Array.from({ length: 300 }, (_, i) => command('CL.THROTTLE', 'k', 99, 1, 3600) + command('ECHO', i))
    const lines = await bare.lines(sent.join(''), 8 * 300)
    const remaining = lines.filter((_, i) => i % 8 === 3)
    expect(remaining).toEqual(Array.from({ length: 300 }, (_, i) => `:${Math.max(0, 99 - i)}`))
    expect(lines.filter((_, i) => i % 8 === 7)).toEqual(Array.from({ length: 300 }, (_, i) => String(i)))
  })

  test('QUIT is answered after the commands before it', async () => {
    const { open } = await setUp('throw')
    const bare = await open()
    bare.send(command('CL.THROTTLE', 'k', 0, 1, 60) + command('CL.THROTTLE', 'k', 0, 1, 60, -1) + command('QUIT'))
    expect(await bare.end()).toBe('*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:60\r\n*5\r\n:0\r\n:1\r\n:1\r\n:-1\r\n:0\r\n+OK\r\n')
  })
})

describe('on a Redis that is gone', () => {
  const ask = Array.from({ length: 4 }, () => command('CL.THROTTLE', 'k', 1, 1, 3600)).join('')

  test('failure mode throw answers an error each time', async () => {
    const { open, redis } = await setUp('throw')
    const bare = await open()
    await redis.stop()
    for (const line of await bare.lines(ask, 4)) expect(line).toMatch(/^-ERR_STORE /)
    expect((await bare.lines(command('SLUICE.CHECK', 'ada', '/'), 1))[0]).toMatch(/^-ERR_STORE /)
    expect((await bare.lines(command('SLUICE.RESERVE', 'ada', '/', 'HOLD', 1), 1))[0]).toMatch(/^-ERR_STORE /)
    expect((await bare.lines(command('CL.THROTTLE', 'k', 1, 1, 60, -1), 1))[0]).toMatch(/^-ERR_STORE /)
  })

  test.each([
    ['deny', [':1', ':1', ':1', ':1']],
    ['allow', [':0', ':0', ':0', ':0']],
    ['local', [':0', ':0', ':1', ':1']],
  ])('failure mode %s decides as it does over HTTP', async (mode, limited) => {
    const { open, redis } = await setUp(mode)
    const bare = await open()
    await redis.stop()
    expect(limitedOf(await bare.lines(ask, 24))).toEqual(limited)
  })

  test('in failure mode deny and allow, nothing can be given back, and an error says so', async () => {
    const { open, redis } = await setUp('allow')
    const bare = await open()
    await redis.stop()
    expect((await bare.lines(command('CL.THROTTLE', 'k', 1, 1, 60, -1), 1))[0]).toMatch(/^-ERR_STORE /)
  })
})
