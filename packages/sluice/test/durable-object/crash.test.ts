// workerd is killed with kill -9 while Workers hit, and started again on the same disk: no answered hit is lost.

import { afterAll, describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../test/rounds.ts'
import { whyNoWorkerd } from '../../../../test/servers/workerd-server.mjs'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import { allowedIn, codesOf, Front, valuesOf } from './front.ts'

const whyNot = whyNoWorkerd()
const rules: RuleSpec[] = [{ algorithm: 'fixed-window', limit: 1_000_000, window: '1d', name: 'day' }]
const HITS_A_REQUEST = 5

describe(`workerd that is killed${whyNot && `, skipped: ${whyNot}`}`, { skip: whyNot !== '' }, () => {
  const front = new Front()
  afterAll(() => front.remove())

  test('has every answered hit after a restart, and none twice', async () => {
    let answered = 0
    let sent = 0
    const hit = async (): Promise<void> => {
      sent += HITS_A_REQUEST
      answered += allowedIn(await front.calls({ rules, calls: Array(HITS_A_REQUEST).fill(['hit', 'ada']) }))
    }
    for (let round = 0; round < roundsOf({ usual: 3, long: 50 }); round++) {
      await front.start()
      const [used] = valuesOf(await front.calls({ rules, calls: [['get', 'ada']] })) as number[]
      expect(used).toBeGreaterThanOrEqual(answered)
      expect(used).toBeLessThanOrEqual(sent)
      answered = used
      sent = used
      const goal = answered + 50
      let isKilled = false
      const callers = Array.from({ length: 8 }, async () => {
        while (!isKilled) await hit().catch(() => {})
      })
      await expect.poll(() => answered, { interval: 5, timeout: 20_000 }).toBeGreaterThan(goal)
      await front.kill()
      isKilled = true
      await Promise.all(callers)
    }
    await front.start()
    const [used] = valuesOf(await front.calls({ rules, calls: [['get', 'ada']] })) as number[]
    expect([used >= answered, used <= sent]).toEqual([true, true])
    await front.kill()
  }, 300_000)

  test('without SQLite storage says what to change', async () => {
    await front.start({ enableSql: false })
    const outcomes = await front.calls({ rules, store: { name: 'no-sql' }, calls: [['hit', 'ada']] })
    expect(codesOf(outcomes)).toEqual(['ERR_STORE_FATAL'])
    expect(outcomes).toEqual([expect.objectContaining({ message: expect.stringContaining('new_sqlite_classes') })])
    await front.kill()
  })
})
