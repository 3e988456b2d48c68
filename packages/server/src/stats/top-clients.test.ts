import { expect, test } from 'vitest'
import { TopClients } from './top-clients.ts'

const T = 1_800_000_000_000 - (1_800_000_000_000 % 600_000)
const MINUTE = 60_000

test('the busiest client comes first, exact while few clients come', () => {
  const top = new TopClients()
  for (let i = 0; i < 5; i++) top.add('ada', T)
  for (let i = 0; i < 3; i++) top.add('bob', T + 15 * MINUTE)
  top.add('ada', T + 15 * MINUTE)
  top.add('eve', T)
  expect(top.read(2, T + 20 * MINUTE)).toMatchObject({
    clients: [
      { client_id: 'ada', count: 6, error: 0 },
      { client_id: 'bob', count: 3, error: 0 },
    ],
    unlisted_at_most: 1,
  })
})

test('each minute of the hour has its own count, oldest first', () => {
  const top = new TopClients()
  for (let minute = 0; minute < 70; minute++) for (let i = 0; i < minute; i++) top.add('ada', T + minute * MINUTE)
  const [{ minutes, count }] = top.read(1, T + 69 * MINUTE + 1).clients
  expect(minutes).toEqual(Array.from({ length: 60 }, (_, i) => i + 10))
  expect(count).toBe(minutes.reduce((sum, count) => sum + count))
  const [later] = top.read(1, T + 72 * MINUTE).clients
  expect(later.minutes.slice(-4)).toEqual([69, 0, 0, 0])
})

test('after a backward step of the clock, checks are still assigned to a minute', () => {
  const top = new TopClients()
  top.add('ada', T)
  top.add('ada', T - 5 * MINUTE)
  expect(top.read(1, T).clients[0].minutes.at(-1)).toBe(2)
})

test('checks older than an hour are dropped', () => {
  const top = new TopClients()
  top.add('ada', T)
  top.add('bob', T + 59 * MINUTE)
  expect(top.read(10, T + 61 * MINUTE).clients.map(({ client_id }) => client_id)).toEqual(['bob'])
  expect(top.read(10, T + 200 * MINUTE).clients).toEqual([])
})

test('the stated error holds over several slices under a flood of clients', () => {
  const top = new TopClients(16)
  const truth = new Map<string, number>()
  const see = (client: string, nowMs: number): void => {
    top.add(client, nowMs)
    truth.set(client, (truth.get(client) ?? 0) + 1)
  }
  for (let i = 0; i < 3000; i++) {
    see(`passer-by-${i}`, T + i * 500)
    if (i % 3 === 0) see('regular', T + i * 500)
    if (i > 1500 && i % 2 === 0) see('late', T + i * 500)
  }
  const { clients, unlisted_at_most } = top.read(40, T + 1_500_000)
  const listed = new Map(clients.map((client) => [client.client_id, client]))
  for (const [client, count] of truth) {
    const said = listed.get(client)
    if (said === undefined) expect(count).toBeLessThanOrEqual(unlisted_at_most)
    else {
      expect(count).toBeLessThanOrEqual(said.count)
      expect(count).toBeGreaterThanOrEqual(said.count - said.error)
      expect(said.minutes.reduce((sum, count) => sum + count)).toBe(said.count - said.error)
    }
  }
  expect(clients[0].client_id).toBe('regular')
})

test('one client has a whole hour of minutes at any time, and nothing is missing while few clients come', () => {
  for (const later of [0, 4, 9]) {
    const top = new TopClients()
    for (let minute = 0; minute <= 80 + later; minute++) {
      for (let i = 0; i < minute; i++) top.add('ada', T + minute * MINUTE)
      top.add('bob', T + minute * MINUTE)
    }
    const minutes = Array.from({ length: 60 }, (_, i) => i + 21 + later)
    expect(top.readClient('ada', T + (80 + later) * MINUTE + 1)).toEqual({ minutes, missingAtMost: 0 })
    expect(top.readClient('nobody', T + 80 * MINUTE)).toEqual({ minutes: new Array(60).fill(0), missingAtMost: 0 })
    expect(top.readClient('ada', T + 300 * MINUTE)).toEqual({ minutes: new Array(60).fill(0), missingAtMost: 0 })
  }
})

test('under a flood of clients the minutes of one are never too high, and the missing checks are bounded', () => {
  const top = new TopClients(16)
  const truth = new Map<string, number>()
  for (let i = 0; i < 5000; i++) {
    const client = i % 3 === 0 ? 'regular' : i % 40 === 1 ? 'rare' : `passer-by-${i}`
    top.add(client, T + i * 500)
    truth.set(client, (truth.get(client) ?? 0) + 1)
  }
  for (const [client, count] of truth) {
    const { minutes, missingAtMost } = top.readClient(client, T + 5000 * 500)
    const seen = minutes.reduce((sum, each) => sum + each)
    expect(seen).toBeLessThanOrEqual(count)
    expect(seen + missingAtMost).toBeGreaterThanOrEqual(count)
  }
})
