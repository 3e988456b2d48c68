// CL.THROTTLE: redis-cell's known answers, a walk against a slow model, and numbers at their bounds.

import { describe, expect, test } from 'vitest'
import { MOST_LIMITS } from '../../src/decide/throttles.ts'
import { LONGEST_THROTTLE_KEY } from '../../src/doors/resp/limits.ts'
import { advance } from '../running-service.ts'
import { type Bare, command, startResp } from './resp-service.ts'

type Five = readonly number[]

/** Sends one CL.THROTTLE and reads its five integers. */
async function throttle(bare: Bare, ...args: (string | number)[]): Promise<Five> {
  const [head, ...rest] = await bare.lines(command('CL.THROTTLE', ...args), 6)
  if (head !== '*5') throw new Error(`answered ${head}`)
  return rest.map((line) => Number(line.slice(1)))
}

const setUp = async (flags = {}) => (await startResp({ flags: { keysRequired: 'false', ...flags } })).open()

describe('known answers of redis-cell', () => {
  test('from its documents', async () => {
    const bare = await setUp()
    expect(await throttle(bare, 'user123', 15, 30, 60)).toEqual([0, 16, 15, -1, 2])
    expect(await throttle(bare, 'a', 0, 1, 2, 1)).toEqual([0, 1, 0, -1, 2])
    expect(await throttle(bare, 'a', 0, 1, 2, 1)).toEqual([1, 1, 0, 2, 2])
    advance(2000)
    expect(await throttle(bare, 'a', 0, 1, 2, 1)).toEqual([0, 1, 0, -1, 2])
  })

  /** Time since the start, quantity, remaining, reset after, retry after, limited. */
  const CASES: readonly (readonly [number, number, number, number, number, number])[] = [
    [0, 6, 5, 0, -1, 1],
    [0, 1, 4, 1, -1, 0],
    [0, 1, 3, 2, -1, 0],
    [0, 1, 2, 3, -1, 0],
    [0, 1, 1, 4, -1, 0],
    [0, 1, 0, 5, -1, 0],
    [0, 1, 0, 5, 1, 1],
    [3000, 1, 2, 3, -1, 0],
    [3100, 1, 1, 4, -1, 0],
    [4000, 1, 1, 4, -1, 0],
    [8000, 1, 4, 1, -1, 0],
    [9500, 1, 4, 1, -1, 0],
    [9500, 0, 4, 1, -1, 0],
    [9500, 2, 2, 3, -1, 0],
    [9500, 5, 2, 3, 3, 1],
  ]

  test('from its own tests, at the same times', async () => {
    const bare = await setUp()
    let passedMs = 0
    for (const [atMs, quantity, remaining, resetAfter, retryAfter, limited] of CASES) {
      advance(atMs - passedMs)
      passedMs = atMs
      expect(await throttle(bare, 'foo', 4, 1, 1, quantity)).toEqual([limited, 5, remaining, retryAfter, resetAfter])
    }
  })
})

const later = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** Textbook GCRA in exact fractions: a cell every period/count, in units of 1/count ms. */
class Model {
  readonly #tats = new Map<string, bigint>()

  ask(
    key: string,
    nowMs: number,
    { burst, count, period, quantity }: Record<'burst' | 'count' | 'period' | 'quantity', number>,
  ): Five {
    const interval = BigInt(period) * 1000n
    const tolerance = BigInt(burst + 1) * interval
    const now = BigInt(nowMs) * BigInt(count)
    const known = this.#tats.get(key) ?? now
    const tat = later(known, now)
    const next = tat + BigInt(quantity) * interval
    const early = next - tolerance - now
    const limited = early > 0n && quantity >= 0
    const kept = limited ? tat : later(next, now)
    this.#tats.set(key, kept)
    const seconds = (units: bigint): number => Math.ceil(Number((units + BigInt(count) - 1n) / BigInt(count)) / 1000)
    const retryAfter = limited && BigInt(quantity) * interval <= tolerance ? seconds(early) : -1
    return [Number(limited), burst + 1, Number((tolerance - (kept - now)) / interval), retryAfter, seconds(kept - now)]
  }
}

test.each([1, 2, 3, 4])('a walk answers as a slow model does (seed %i)', async (seed) => {
  const bare = await setUp()
  const model = new Model()
  let state = seed
  const whole = (most: number): number => {
    state = (state * 48_271) % 2_147_483_647
    return state % (most + 1)
  }
  const limits = Array.from({ length: 5 }, () => ({ burst: whole(6), count: 1 + whole(12), period: 1 + whole(9) }))
  for (let step = 0; step < 250; step++) {
    if (whole(3) === 0) advance(whole(2500))
    const at = whole(limits.length - 1)
    const limit = limits[at]
    const quantity = whole(4) === 0 ? whole(12) - 4 : 1
    const key = `${at}:${whole(2)}`
    const expected = model.ask(key, Date.now(), { ...limit, quantity })
    const got = await throttle(bare, key, limit.burst, limit.count, limit.period, quantity)
    expect(got, `step ${step}, ${JSON.stringify({ key, ...limit, quantity })}`).toEqual(expected)
  }
})

describe('a key', () => {
  test('has one state, whatever limit it is checked under, as in redis-cell', async () => {
    const bare = await setUp()
    expect(await throttle(bare, 'k', 9, 1, 60, 5)).toEqual([0, 10, 5, -1, 300])
    expect((await throttle(bare, 'k', 4, 1, 60, 0))[2]).toBe(0)
    expect((await throttle(bare, 'k', 19, 2, 60, 0))[2]).toBe(15)
  })

  test('is bytes: two keys that are not UTF-8 are counted apart, and one may be empty', async () => {
    const bare = await setUp()
    for (const key of ['\xff', '\xfe', '', '\0', 'é']) expect((await throttle(bare, key, 0, 1, 60))[0]).toBe(0)
    for (const key of ['\xff', '\xfe', '', '\0', 'é']) expect((await throttle(bare, key, 0, 1, 60))[0]).toBe(1)
  })

  test('never meets the counter of a policy', async () => {
    const { open, call } = await startResp()
    const bare = await open()
    await call('PUT', '/v1/policies/default', {
      rules: { algorithm: 'gcra', limit: 1, period: '1m', burst: 1, name: 'cl.throttle' },
    })
    const { body } = await call('POST', '/v1/check', { client_id: 'ada', route: '/a' })
    expect(body.data).toMatchObject({ status: 'Allow' })
    for (const key of ['r3:ada/a', '3:ada/a', 'ada', 'tr3:ada/a']) expect((await throttle(bare, key, 0, 1, 60))[0]).toBe(0)
    expect((await call('POST', '/v1/check', { client_id: 'eve', route: '/a' })).body.data).toMatchObject({ status: 'Allow' })
  })

  test('has a longest length', async () => {
    const bare = await setUp()
    expect((await throttle(bare, 'k'.repeat(LONGEST_THROTTLE_KEY), 0, 1, 60))[0]).toBe(0)
    await bare.ask(
      command('CL.THROTTLE', 'k'.repeat(LONGEST_THROTTLE_KEY + 1), 0, 1, 60),
      `-Cell error: the key is longer than ${LONGEST_THROTTLE_KEY} bytes\r\n`,
    )
  })
})

describe('limits', () => {
  test('beyond the maximum number lose no count', async () => {
    const bare = await setUp()
    const periods = Array.from({ length: MOST_LIMITS + 50 }, (_, i) => 100_000 + i)
    const askAll = (): Promise<string[]> =>
      bare.lines(periods.map((period) => command('CL.THROTTLE', period, 0, 1, period)).join(''), 6 * periods.length)
    const limited = (lines: string[]): string[] => lines.filter((_, i) => i % 6 === 1)
    expect(limited(await askAll())).toEqual(periods.map(() => ':0'))
    expect(limited(await askAll())).toEqual(periods.map(() => ':1'))
  })

  test.each([
    [['k'], "ERR wrong number of arguments for 'cl.throttle' command"],
    [['k', 1, 1], "ERR wrong number of arguments for 'cl.throttle' command"],
    [['k', 1, 1, 1, 1, 1], "ERR wrong number of arguments for 'cl.throttle' command"],
    [['k', '1.5', 1, 1], "Cell error: Couldn't parse as integer: 1.5"],
    [['k', '', 1, 1], "Cell error: Couldn't parse as integer: "],
    [['k', ' 1', 1, 1], "Cell error: Couldn't parse as integer:  1"],
    [['k', '1e3', 1, 1], "Cell error: Couldn't parse as integer: 1e3"],
    [['k', '0x10', 1, 1], "Cell error: Couldn't parse as integer: 0x10"],
    [['k', 1, 'two', 1], "Cell error: Couldn't parse as integer: two"],
    [['k', 1, 1, '-'], "Cell error: Couldn't parse as integer: -"],
    [['k', 1, 1, 1, 'many'], "Cell error: Couldn't parse as integer: many"],
    [['k', '9223372036854775808', 1, 1], "Cell error: Couldn't parse as integer: 9223372036854775808"],
    [['k', 1, 0, 1], 'Cell error: Zero rates are not supported'],
    [['k', 1, 1, 0], 'Cell error: Zero rates are not supported'],
    [['k', -1, 1, 1], 'Cell error: Negative numbers are supported for quantity only'],
    [['k', 1, -1, 1], 'Cell error: Negative numbers are supported for quantity only'],
    [['k', '9223372036854775807', 1, 1], 'Cell error: a number is too large to be counted exactly'],
    [['k', 1, 1, '9223372036854775807'], 'Cell error: a number is too large to be counted exactly'],
    [['k', 1, 1, 1, '9223372036854775807'], 'Cell error: a number is too large to be counted exactly'],
    [['k', 1, 1, 1, '-9223372036854775808'], 'Cell error: a number is too large to be counted exactly'],
  ])('%j is answered with an error, and counts nothing', async (args, error) => {
    const bare = await setUp()
    await bare.ask(command('CL.THROTTLE', ...args), `-${error}\r\n`)
    expect(await throttle(bare, 'k', 1, 1, 60, 0)).toEqual([0, 2, 2, -1, 0])
  })

  test.each([
    [9_007_199_254_740_990, 1, 1],
    [1, 1, 9_007_199_254_740],
    [4_503_599_627_370_496, 7, 3],
    [9_007_199_254_740_990, 9_007_199_254_740_991, 9_007_199_254_740],
  ])('burst %i, %i every %i s: exact, or an error', async (burst, count, period) => {
    const bare = await setUp()
    const expected = new Model().ask('k', Date.now(), { burst, count, period, quantity: 1 })
    const [head, ...rest] = await bare.lines(command('CL.THROTTLE', 'k', burst, count, period), 1)
    if (head.startsWith('-')) expect(head).toMatch(/^-Cell error: (gcra with .* passes 2\^53|period must be )/)
    else {
      const five = [...rest, ...(await bare.lines('', 5))].map((line) => Number(line.slice(1)))
      expect(five).toEqual(expected)
    }
  })

  test('numbers may have a sign and zeros, as redis-cell reads them', async () => {
    const bare = await setUp()
    expect(await throttle(bare, 'k', '+15', '0030', '+60', '+1')).toEqual([0, 16, 15, -1, 2])
    expect(await throttle(bare, 'k', '15', '30', '60', '-0')).toEqual([0, 16, 15, -1, 2])
  })
})

test('checks are counted in statistics, and looks and refunds are not', async () => {
  const { open, call } = await startResp()
  const bare = await open()
  for (const quantity of [1, 1, 1, 0, -1]) await throttle(bare, 'ada', 1, 1, 60, quantity)
  const { body } = await call('GET', '/v1/stats')
  expect(body.data.policies).toEqual([expect.objectContaining({ name: '(CL.THROTTLE)', allowed: 2, denied: 1 })])
  const top = await call('GET', '/v1/top?by=denied')
  expect(top.body.data.clients).toMatchObject([{ client_id: 'ada', count: 1 }])
})
