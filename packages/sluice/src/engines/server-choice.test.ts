import { expect, test } from 'vitest'
import { ServerChoice } from './server-choice.ts'

const NAMES = Array.from({ length: 30_000 }, (_, i) => `user:${i}`)

function placesOf(servers: readonly string[]): string[] {
  const choice = new ServerChoice(servers)
  return NAMES.map((name) => servers[choice.indexOf(name)])
}

const THREE = ['10.0.0.1:11211', '10.0.0.2:11211', '10.0.0.3:11211']

test.each([2, 3, 4, 10])('names are spread evenly over %d servers', (count) => {
  const servers = Array.from({ length: count }, (_, i) => `10.0.0.${i}:11211`)
  const counts = new Map<string, number>()
  for (const server of placesOf(servers)) counts.set(server, (counts.get(server) ?? 0) + 1)
  const even = NAMES.length / count
  for (const server of servers) expect(Math.abs((counts.get(server) ?? 0) - even) / even).toBeLessThan(0.06)
})

test('the order of the list does not matter', () => {
  expect(placesOf([...THREE].reverse())).toEqual(placesOf(THREE))
})

test('a fourth server takes a quarter of the names, and no other name moves', () => {
  const before = placesOf(THREE)
  const after = placesOf([...THREE, '10.0.0.4:11211'])
  const moved = NAMES.filter((_, i) => before[i] !== after[i])
  expect(after.filter((server, i) => server !== before[i] && server !== '10.0.0.4:11211')).toEqual([])
  expect(Math.abs(moved.length / NAMES.length - 0.25)).toBeLessThan(0.02)
})

test('if a server is removed, only its own names move', () => {
  const before = placesOf(THREE)
  const after = placesOf(THREE.slice(1))
  expect(before.filter((server, i) => server !== THREE[0] && after[i] !== server)).toEqual([])
})

test('names keep their servers in later versions', () => {
  // Processes of two versions share servers during a deployment. If they chose differently, each would count for itself.
  const choice = new ServerChoice(THREE)
  expect(['ada', 'bob', 'acme', 'eve', 'joe', '*', 'user:42', '%0000'].map((name) => choice.indexOf(name))).toEqual([
    2, 0, 0, 1, 2, 2, 2, 2,
  ])
})

test('keys keep their Durable Objects in later versions, whatever characters they have', () => {
  const choice = new ServerChoice(Array.from({ length: 16 }, (_, shard) => String(shard)))
  const places = ['', 'a', 'ada', '😀', '\ud83d', 'x'.repeat(10_000)].map((key) => choice.indexOf(key))
  expect(places).toMatchInlineSnapshot(`
    [
      1,
      1,
      10,
      3,
      1,
      9,
    ]
  `)
})
