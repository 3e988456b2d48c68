// Round trips of a call, counted between client and server.

import postgres from 'postgres'
import { describe, expect, test } from 'vitest'
import { MessageCounter } from '../../../test/postgres/message-counter.mjs'
import { CLIENTS, clientFor, freshTable, patientLimiter, realPostgres } from '../../../test/postgres/real-postgres.ts'
import { beforeTests } from '../../../test/redis/real-redis.ts'
import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.ts'
import { postgresStore } from './postgres-store.ts'

const server = realPostgres()
const counter = beforeTests(
  async () => {
    const made = new MessageCounter(server.it.port)
    await made.start()
    return made
  },
  (made) => made.stop(),
)

const rules = [fixedWindow({ limit: 5, window: '1h', name: 'a' }), fixedWindow({ limit: 9, window: '1h', name: 'b' })]

describe.each(Object.entries(CLIENTS))('%s', (_name, open) => {
  const connected = clientFor(() => open(`postgres://postgres@127.0.0.1:${counter.it.port}/postgres`))

  test('all calls of a turn are two round trips, in texts without parameters', async () => {
    const limiter = patientLimiter(rules, postgresStore(connected.it.client, { table: freshTable(), mode: 'transaction' }))
    await limiter.hit('warm')
    counter.it.forget()
    const keys = Array.from({ length: 40 }, (_, i) => `key ${i % 30}`)
    const decisions = await Promise.all(keys.map((key) => limiter.hit(key)))
    expect(decisions.filter(({ remaining }) => remaining === 3)).toHaveLength(10)
    expect(counter.it.types).toEqual(['Q', 'Q'])
    expect(counter.it.texts[0]).toMatch(/^BEGIN ISOLATION LEVEL READ COMMITTED;/)
    expect(counter.it.texts[1]).toMatch(/COMMIT$/)
  })

  test('a call that changes nothing is rolled back', async () => {
    const limiter = patientLimiter(rules, postgresStore(connected.it.client, { table: freshTable(), mode: 'transaction' }))
    await limiter.hit('k', { cost: 5 })
    counter.it.forget()
    expect((await limiter.hit('k')).allowed).toBe(false)
    expect(await limiter.get('new', { rule: 'a' })).toBe(0)
    expect(counter.it.texts.map((text) => text.slice(0, 8))).toEqual(['BEGIN IS', 'ROLLBACK', 'BEGIN IS', 'ROLLBACK'])
  })
})

test('postgres.js without types opens a connection before it reserves it: one round trip more', async () => {
  const client = postgres(`postgres://postgres@127.0.0.1:${counter.it.port}/postgres`, { fetch_types: false, onnotice: () => {} })
  const limiter = patientLimiter(rules, postgresStore(client, { table: freshTable(), mode: 'transaction' }))
  await limiter.hit('warm')
  counter.it.forget()
  await Promise.all(['a', 'b', 'c'].map((key) => limiter.hit(key)))
  expect(counter.it.texts.map((text) => text.slice(0, 8))).toEqual(['SELECT 1', 'BEGIN IS', expect.any(String)])
  await client.end()
})
