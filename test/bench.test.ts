import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { httpBars } from '../packages/bench/http/bars.mjs'
import { inTurnOrder, loadFrameworks } from '../packages/bench/http/frameworks.mjs'
import { ENTRANT, summarize } from '../packages/bench/http/tasks/overhead.mjs'
import { postgresBars } from '../packages/bench/postgres/bars.mjs'
import { redisBars } from '../packages/bench/redis/bars.mjs'
import { atLeast, atMost, failedBars, shown, verdict } from '../packages/bench/report/bars.mjs'
import { Results } from '../packages/bench/rounds/results.mjs'
import { sqliteBars } from '../packages/bench/sqlite/bars.mjs'
import { race } from '../packages/bench/sqlite/traffic.mjs'

const bench = fileURLToPath(new URL('../packages/bench/bench.mjs', import.meta.url))

function run(...args: string[]) {
  return spawnSync(process.execPath, [bench, ...args], { encoding: 'utf8' })
}

test('the bench explains itself', () => {
  const { status, stdout } = run('--help')
  expect(status).toBe(0)
  expect(stdout).toMatch(/npm run bench -- <name>[\s\S]*memory[\s\S]*redis/)
})

test('it refuses what it does not know, with exit code 2 and a reason', () => {
  expect(run('memmory')).toMatchObject({ status: 2, stderr: expect.stringContaining('memmory') })
  expect(run('memory', '--fast')).toMatchObject({ status: 2, stderr: expect.stringContaining('--fast') })
  expect(run('redis', '--rounds', 'many')).toMatchObject({ status: 2, stderr: expect.stringContaining('many') })
})

describe('bars', () => {
  const telling = { work: 'hit', unit: '×', of: ' the peer' }

  test('pass at their bound, and not on the other side of it; a failed measurement passes none', () => {
    expect([2.5, 2.49, Number.NaN].map((number) => atLeast(2.5, number, telling).passed)).toEqual([true, false, false])
    expect([0.4, 0.41, Number.NaN].map((number) => atMost(0.4, number, telling).passed)).toEqual([true, false, false])
  })

  test('count in the verdict, unless they are only shown', () => {
    const bars = [atLeast(1, 2, telling), atLeast(3, 2, telling), shown(2, telling)]
    expect(verdict(bars)).toBe('1 passed, 1 failed')
    expect(failedBars(bars)).toEqual([bars[1]])
  })

  test('of the Postgres bench compare each way of ours with the peer', () => {
    const results = new Results()
    const rates = (rate: number) => Object.fromEntries([1, 16, 128].map((underWay) => [`hitsPerSecond at ${underWay}`, rate]))
    for (const [entrant, rate] of Object.entries({
      'sluice-function': 300,
      'sluice-transaction': 200,
      'rate-limiter-flexible': 100,
    })) {
      results.add('hits under way', 'pg', entrant, { numbers: rates(rate) })
    }
    const bars = postgresBars({} as never, results)
    expect(bars.map(({ measured, passed }) => [measured, passed])).toEqual([
      ['3.00×', false],
      ['3.00×', true],
      ['3.00×', true],
      ['2.00×', false],
      ['2.00×', true],
    ])
  })

  test('of the Redis bench are medians of ratios that are taken within a round', () => {
    const numbers = (rate: number) => ({
      ...Object.fromEntries([1, 16, 128].map((underWay) => [`hitsPerSecond at ${underWay}`, rate])),
      hitsPerSecond: rate,
      'roundTrips at 128': 1 / 64,
      bytes: 1000 / rate,
    })
    // The second round had half of the machine: absolute numbers fall, ratios stay.
    const rounds = (rate: number) => [numbers(rate), numbers(rate / 2), numbers(rate)]
    const results = new Results()
    const add = (task: string, group: string, rates: Readonly<Record<string, number>>) => {
      for (const [entrant, rate] of Object.entries(rates)) {
        for (const round of rounds(rate)) results.add(task, group, entrant, { numbers: round })
      }
    }
    const contestants = { sluice: 260, 'rate-limiter-flexible': 100, 'rate-limit-redis': 130, 'bare-incr': 200 }
    const groups = ['ioredis, server', 'node-redis, server', 'ioredis, cluster', 'node-redis, cluster']
    for (const group of groups) add('hits under way', group, contestants)
    add('every rule', '128 under way', { fixedWindow: 260, tokenBucket: 130 })
    add('several rules', '128 under way', { 1: 260, 2: 200, 4: 65 })
    add('holds', '128 under way', { hit: 260, 'reserve + settle': 130 })
    add('bytes a key', '10 hits', { sluice: 4, 'a counter under our names': 8 })
    const bars = redisBars({} as never, results)
    const ofClient = ['2.00×', '2.00×', '2.60×', '1.30×', '0.0156']
    expect(bars.map(({ measured }) => measured)).toEqual([
      ...ofClient,
      ...ofClient,
      ...['2.60×', '2.60×'],
      ...['2.60×', '2.60×'],
      ...['0.500×', '1.30×', '4.00×', '2.00×', '2.00×'],
    ])
    expect(bars.map(({ passed }) => passed)).toEqual([
      ...[true, true, true, false, true],
      ...[true, true, false, false, true],
      ...[true, true],
      ...[true, true],
      ...[false, true, false, true, false],
    ])
  })

  test('of the SQLite bench are medians of ratios within a lap, with any number of keys', async () => {
    const results = new Results()
    const ratios = { '1 key': [0.9, 1.2, 1.1], '1 k keys': [0.8, 0.99, 5], '100 k keys': [1, 1, 1] }
    for (const [group, rounds] of Object.entries(ratios)) {
      for (const ratio of rounds) {
        results.add('hit rate', group, 'in turns', { numbers: { 'ratio to rate-limiter-flexible': ratio } })
      }
    }
    const bars = sqliteBars({} as never, results)
    expect(bars.map(({ measured, passed }) => [measured, passed])).toEqual([
      ['1.10×', true],
      ['0.990×', false],
      ['1.00×', true],
    ])
    const limiter = (isAllowed: boolean) => ({ hit: (key: string) => key, isAllowed: () => isAllowed })
    const entrant = (name: string, isAllowed = true) => ({ name, isAsync: name === 'slow', limiter: limiter(isAllowed) })
    const work = { keys: 10, warmUpLaps: 1, laps: 2 }
    const numbers = await race([entrant('quick'), entrant('slow')], work)
    expect(Object.keys(numbers)).toEqual(['rate of quick', 'ratio to quick', 'rate of slow', 'ratio to slow'])
    expect(numbers['ratio to quick']).toBe(1)
    await expect(race([entrant('strict', false)], work)).rejects.toThrow('strict denied hits')
  })

  test('of the HTTP bench compare turns of one lap, with the fields by hand and with the peer', () => {
    // The machine is three times slower from the second lap on, and the last lap of the peer is disturbed.
    const laps = (micros: number[]) => micros.map((serverMicros) => ({ requestsPerSecond: 1000, serverMicros }))
    const numbers = summarize(
      new Map([
        ['bare', laps([8, 24, 24])],
        ['by hand', laps([9.3, 27.9, 27.9])],
        ['sluice', laps([10, 30, 30])],
        ['theirs', laps([10.4, 31.2, 90])],
      ]),
    )
    const results = new Results()
    for (let round = 0; round < 5; round++) results.add('overhead', 'toy', ENTRANT, { numbers })
    const start = async () => 0
    const servers = [
      { name: 'sluice', role: 'sluice' },
      { name: 'theirs', role: 'peer' },
      { name: 'by hand', role: 'floor' },
      { name: 'bare', role: 'aside' },
    ].map((each) => ({ ...each, packageName: null, call: '', start }))
    const bars = httpBars({ frameworks: [{ name: 'toy', servers }] } as never, results)
    expect(bars.map(({ bar, measured, passed }) => [bar, measured, passed])).toEqual([
      ['≥ 1.05× theirs', '1.04×', false],
      ['≥ 0.92× by hand', '0.930×', true],
      ['shown: × bare', '0.800×', undefined],
    ])
  })
})

test('in every framework of the HTTP bench, ours has its turn between the fields by hand and the peers', async () => {
  for (const { name, servers } of await loadFrameworks()) {
    const roles = inTurnOrder(servers).map(({ role }) => role)
    const ours = roles.indexOf('sluice')
    expect(roles[ours - 1], name).toBe('floor')
    expect(
      roles.slice(ours + 1).every((role) => role === 'peer'),
      name,
    ).toBe(true)
  }
})
