import { expect, test } from 'vitest'
import { slidingLog } from '../../algorithms/sliding-log/sliding-log.ts'
import type { Rule, RuleLog } from '../../core/rule.ts'
import { seededRandom } from '../../testing/random.ts'
import { LogArena } from './log-arena.ts'

const rule = slidingLog({ limit: 10_000, window: '1h' }) as Rule & { readonly log: RuleLog }

test('logs that grow side by side do not touch each other', () => {
  const random = seededRandom()
  const arena = new LogArena()
  const logs = Array.from({ length: 200 }, () => ({ handle: arena.allocate(rule, 0), spent: 0 }))
  for (let nowMs = 1; nowMs < 20_000; nowMs++) {
    const log = random.pick(logs)
    log.handle = arena.grow(rule, log.handle)
    rule.spend(arena.cells(log.handle), arena.at(log.handle), nowMs, 1)
    log.spent += 1
    if (random.whole(0, 300) === 0) {
      arena.free(log.handle)
      log.handle = arena.allocate(rule, 0)
      log.spent = 0
    }
  }
  for (const { handle, spent } of logs) {
    expect(rule.used(arena.cells(handle), arena.at(handle), 20_000), `SEED=${random.seed}`).toBe(spent)
  }
})

test('a block that is given out again is empty', () => {
  const arena = new LogArena()
  const handle = arena.allocate(rule, 0)
  rule.spend(arena.cells(handle), arena.at(handle), 5, 3)
  arena.free(handle)
  const again = arena.allocate(rule, 0)
  expect(again).toBe(handle)
  expect(rule.used(arena.cells(again), arena.at(again), 6)).toBe(0)
})

test('a log may be larger than a slab', () => {
  const arena = new LogArena()
  let handle = arena.allocate(rule, 0)
  for (let nowMs = 1; nowMs <= 9000; nowMs++) {
    handle = arena.grow(rule, handle)
    rule.spend(arena.cells(handle), arena.at(handle), nowMs, 1)
  }
  expect(rule.used(arena.cells(handle), arena.at(handle), 9000)).toBe(9000)
})
