// kill -9 of one of two instances in the middle of changes, on every database: the other goes on with everything that was acknowledged.

import { writeFileSync } from 'node:fs'
import { createClient } from 'sluice-client/node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/servers/redis-server.mjs'
import { startSluice } from '../../../test/servers/sluice-service.mjs'
import { DATABASE_NAMES, TEST_DATABASES } from './databases/test-database.ts'

/** On a busy machine the database may be slow, and the fallback counters would look like errors. */
const PATIENT = ['--failure-timeout-ms', '10000', '--log-level', 'warn']

const ROUNDS = 2
const WORKERS = 4

/** Changes that each worker makes before the kill. */
const EACH = 6

describe.each(DATABASE_NAMES)('on %s', (name) => {
  test('acknowledged changes are kept, with their audit entries, and changes and counts go on', async () => {
    const database = await TEST_DATABASES[name]({ isDurable: true })
    onTestFinished(() => database.stop())
    const args = ['--store', database.store, ...PATIENT]
    const one = await startSluice({ args })
    onTestFinished(() => one.remove())
    const other = await startSluice({ args })
    onTestFinished(() => other.remove())
    writeFileSync(other.keyFile, one.key)
    const there = createClient({ url: other.url, apiKey: one.key, failure: { timeoutMs: 10_000 } })
    onTestFinished(() => there.close())
    const acknowledged = new Map<string, number>()
    for (let round = 0; round < ROUNDS; round++) {
      const client = createClient({ url: one.url, apiKey: one.key, failure: { timeoutMs: 10_000 } })
      let isOver = false
      /** Acknowledged changes of each worker in this round. */
      const made = Array<number>(WORKERS).fill(0)
      /** Half of the workers ask the other instance, so that both make changes at once. */
      const change = async (worker: number): Promise<void> => {
        const asked = worker % 2 === 0 ? client : there
        for (let i = 1; !isOver; i++) {
          const policy = `p-${worker}-${i % 3}`
          const limit = round * 100_000 + i
          try {
            await asked.policies.put({ name: policy, client: policy, rules: { algorithm: 'fixed-window', limit, window: '1h' } })
            acknowledged.set(policy, limit)
            made[worker] += 1
          } catch (error) {
            if (!isOver) throw error
          }
        }
      }
      const workers = Promise.all(Array.from({ length: WORKERS }, (_, worker) => change(worker)))
      // A worker fails if its change lost against those of others for too long. Each gets its turn.
      await Promise.race([until('changes of each worker', async () => made.every((changes) => changes >= EACH), 60_000), workers])
      isOver = true
      await one.kill()
      await workers
      client.close()
      // The other makes changes at once.
      await there.policies.put({ name: `round-${round}`, client: `r-${round}`, rules: '5/hour' })
      await one.start()
    }
    for (const [policy, limit] of acknowledged) {
      const [rule] = [(await there.policies.get(policy)).rules].flat()
      // A change that was made during the kill may be there as well. Then it is newer.
      expect((rule as { limit: number }).limit, policy).toBeGreaterThanOrEqual(limit)
      const { entries } = (await other.call('GET', `/v1/audit?target=${policy}&limit=1`, undefined, { 'api-key': one.key })).body
        .data
      // No change without its entry, and no entry without its change, also if nobody got the answer.
      expect(entries[0].after.rules[0].limit, policy).toBe((rule as { limit: number }).limit)
    }
    const counts = [one, other].map(({ url }) => createClient({ url, apiKey: one.key, failure: { timeoutMs: 10_000 } }))
    const decisions = await Promise.all(
      Array.from({ length: 20 }, (_, i) => counts[i % 2].check({ clientId: 'r-0', route: '/' })),
    )
    for (const client of counts) client.close()
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5)
  }, 240_000)
})
