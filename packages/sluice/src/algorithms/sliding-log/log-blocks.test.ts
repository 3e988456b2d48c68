import { describe, expect, test } from 'vitest'
import { lackingLogBytes } from '../../core/log-budget.ts'
import type { LogRule } from '../../core/rule-log.ts'
import { ByteBudget } from '../../stores/memory/byte-budget.ts'
import { seededRandom } from '../../testing/random.ts'
import { LogBlocks } from './log-blocks.ts'
import { slidingLog } from './sliding-log.ts'

const rule = slidingLog({ limit: 1_000_000, window: '1h' }) as LogRule

/** A time after all entries. */
const AFTER_ALL = 1_000_000

/** Logs in an arena, each with a number. It stands for the rows of a table. */
class Logs {
  readonly budget: ByteBudget
  readonly arena: LogBlocks
  readonly handles = new Map<number, number>()

  constructor(maxBytes = 2 ** 40) {
    this.budget = new ByteBudget(maxBytes)
    this.arena = new LogBlocks(this.budget, ({ lo }, handle) => this.handles.set(lo, handle))
  }

  add(log: number): void {
    this.handles.set(log, this.arena.allocate(rule, ownerOf(log)))
  }

  spend(log: number, nowMs: number, cost = 1): void {
    const handle = this.arena.fit(rule, this.#handle(log), ownerOf(log))
    this.handles.set(log, handle)
    rule.spend(this.arena.cells(handle), this.arena.at(handle), nowMs, cost)
  }

  settle(log: number, nowMs: number): void {
    rule.settle(this.arena.cells(this.#handle(log)), this.arena.at(this.#handle(log)), nowMs)
  }

  refund(log: number, cost: number, endsAt?: number): void {
    rule.refund(this.arena.cells(this.#handle(log)), this.arena.at(this.#handle(log)), AFTER_ALL, cost, endsAt)
  }

  used(log: number, nowMs: number): number {
    return rule.used(this.arena.cells(this.#handle(log)), this.arena.at(this.#handle(log)), nowMs)
  }

  free(log: number): void {
    const handle = this.#handle(log)
    this.handles.delete(log)
    this.arena.free(handle)
  }

  #handle(log: number): number {
    return this.handles.get(log) as number
  }
}

function ownerOf(log: number): { lo: number; hi: number } {
  return { lo: log, hi: ~log }
}

test('logs that grow, shrink and go side by side do not touch each other', () => {
  const random = seededRandom()
  const logs = new Logs()
  const spent = new Map<number, number>()
  const one = (): number => random.pick([...spent.keys()])
  let next = 1
  for (let nowMs = 1; nowMs < 60_000; nowMs++) {
    if (spent.size < 20 || random.whole(0, 400) === 0) {
      logs.add(next)
      spent.set(next++, 0)
    }
    // A few of them become long.
    const log = random.whole(0, 1) === 0 ? [...spent.keys()][0] : one()
    logs.spend(log, nowMs)
    spent.set(log, (spent.get(log) ?? 0) + 1)
    if (random.whole(0, 300) === 0) {
      const gone = one()
      logs.free(gone)
      spent.delete(gone)
    }
    if (random.whole(0, 500) === 0) {
      const back = one()
      const cost = random.whole(1, 2000)
      logs.refund(back, cost)
      spent.set(back, Math.max(0, (spent.get(back) ?? 0) - cost))
    }
    if (nowMs % 1000 > 0) continue
    for (const [each, units] of spent) expect(logs.used(each, nowMs), `SEED=${random.seed}, log ${each}`).toBe(units)
  }
})

test('a block that is given out again is empty', () => {
  const logs = new Logs()
  logs.add(1)
  for (let nowMs = 1; nowMs < 500; nowMs++) logs.spend(1, nowMs)
  logs.free(1)
  logs.add(2)
  expect(logs.used(2, 500)).toBe(0)
  for (let nowMs = 501; nowMs < 1000; nowMs++) logs.spend(2, nowMs)
  expect(logs.used(2, 1000)).toBe(499)
})

describe('a long log', () => {
  test('is copied a few entries at a time', () => {
    const logs = new Logs()
    logs.add(1)
    let most = 0
    const copy = rule.log.copy
    const counting: LogRule = {
      ...rule,
      log: {
        ...rule.log,
        copy(from, fromAt, to, toAt, start, end) {
          most = Math.max(most, end - start)
          copy(from, fromAt, to, toAt, start, end)
        },
      },
    }
    for (let nowMs = 1; nowMs <= 100_000; nowMs++) {
      const handle = logs.arena.fit(counting, logs.handles.get(1) as number, ownerOf(1))
      logs.handles.set(1, handle)
      rule.spend(logs.arena.cells(handle), logs.arena.at(handle), nowMs, 1)
    }
    expect(most).toBeLessThanOrEqual(8)
    expect(logs.used(1, 100_000)).toBe(100_000)
  })

  test.for([1030, 1100, 1300, 1700, 2100, 2500])('forgets no unit if one of %i entries is refunded while it moves', (entries) => {
    const logs = new Logs()
    logs.add(1)
    for (let nowMs = 1; nowMs <= entries; nowMs++) logs.spend(1, nowMs)
    logs.refund(1, 1, 5 + 3_600_000)
    for (let nowMs = entries + 1; nowMs <= entries + 3000; nowMs++) logs.spend(1, nowMs)
    // The entries up to 20 have left the window. One of them was refunded.
    expect(logs.used(1, 3_600_000 + 20)).toBe(entries + 3000 - 20)
    expect(logs.used(1, 3_600_000 + 4)).toBe(entries + 3000 - 5)
  })

  test.for([1, 50, 300])('stays exact while each tenth entry is refunded, %i entries later', (later) => {
    const logs = new Logs()
    logs.add(1)
    const times: number[] = []
    for (let nowMs = 1; nowMs <= 8000; nowMs++) {
      logs.spend(1, nowMs)
      times.push(nowMs)
      if (nowMs % 10 !== 0 || times.length < later) continue
      const [refunded] = times.splice(times.length - later, 1)
      logs.refund(1, 1, refunded + 3_600_000)
    }
    const kept = new Set(times)
    for (let gone = 0, left = kept.size; gone <= 8000; gone++) {
      if (kept.has(gone)) left -= 1
      if (logs.used(1, 3_600_000 + gone) !== left) expect.fail(`not ${left} units after ${gone} ms`)
    }
  })

  test('stays exact while parts of entries are refunded', () => {
    const logs = new Logs()
    logs.add(1)
    const units: number[] = []
    for (let nowMs = 1; nowMs <= 8000; nowMs++) {
      logs.spend(1, nowMs, 2)
      units.push(2)
      if (nowMs % 7 !== 0 || nowMs < 200) continue
      logs.refund(1, 1, nowMs - 100 + 3_600_000)
      units[nowMs - 101] -= 1
    }
    let left = units.reduce((sum, each) => sum + each, 0)
    for (let gone = 1; gone <= 8000; gone++) {
      left -= units[gone - 1]
      if (logs.used(1, 3_600_000 + gone) !== left) expect.fail(`not ${left} units after ${gone} ms`)
    }
  })

  test('gives its memory back when it has become short, and all of it when it goes', () => {
    const logs = new Logs()
    logs.add(1)
    for (let nowMs = 1; nowMs <= 100_000; nowMs++) logs.spend(1, nowMs)
    expect(logs.arena.bytes).toBeGreaterThan(1_600_000)
    // All but the last hundred have left the window.
    const later = 3_600_000 + 99_900
    logs.settle(1, later)
    for (let i = 1; i <= 2000; i++) logs.spend(1, later + i)
    expect(logs.arena.bytes).toBeLessThan(200_000)
    logs.free(1)
    expect(logs.arena.bytes).toBe(0)
    expect(logs.budget.logs).toBe(0)
  })
})

test('a long log becomes smaller, though a long log could not grow', () => {
  const logs = new Logs(2 ** 22)
  logs.add(1)
  for (let nowMs = 1; nowMs <= 7000; nowMs++) logs.spend(1, nowMs)
  const before = logs.arena.bytes
  // Stands for the logs of other keys.
  logs.budget.logs = 3 * 2 ** 20 - 100_000
  expect(lackingLogBytes(logs.budget, 1, true)).toBeGreaterThan(0)
  const later = 3_600_000 + 6500
  logs.settle(1, later)
  for (let i = 1; i <= 500; i++) logs.spend(1, later + i)
  expect(logs.arena.bytes).toBeLessThan(before / 3)
})

test('memory is freed in any order of freed logs', () => {
  const random = seededRandom()
  const logs = new Logs()
  for (let log = 1; log <= 20_000; log++) {
    logs.add(log)
    for (let i = random.whole(0, 20); i > 0; i--) logs.spend(log, log * 100 - i)
  }
  const full = logs.arena.bytes
  const left = [...logs.handles.keys()]
  while (left.length > 200) {
    const [log] = left.splice(random.whole(0, left.length - 1), 1)
    logs.free(log)
  }
  expect(logs.arena.bytes, `SEED=${random.seed}`).toBeLessThan(full / 5)
  for (const log of left) logs.free(log)
  expect(logs.arena.bytes).toBe(0)
})

test('a log without bytes to grow becomes coarser, and counts no unit shorter', () => {
  const logs = new Logs(2 ** 22)
  logs.add(1)
  const entries = 400_000
  for (let nowMs = 1; nowMs <= entries; nowMs++) {
    logs.spend(1, nowMs)
    if (logs.arena.bytes > 2 ** 22) expect.fail(`${logs.arena.bytes} bytes`)
  }
  expect(logs.used(1, entries)).toBe(entries)
  for (let gone = 0; gone < entries; gone += 1000) {
    const exact = entries - gone
    expect(logs.used(1, 3_600_000 + gone)).toBeGreaterThanOrEqual(exact)
  }
  expect(logs.used(1, 3_600_000 + entries)).toBe(0)
})
