import { expect, test } from 'vitest'
import { type KnownHold, KnownHolds, listedId, MOST_KNOWN, MOST_OF_CLIENT } from './known-holds.ts'

function setUp() {
  const time = { now: 1000 }
  const expired: string[] = []
  const known = new KnownHolds(
    () => time.now,
    ({ id }) => expired.push(id),
  )
  const add = (id: string, clientId = 'ada', expiresAt = 2000): void => known.add(holdOf(id, clientId, expiresAt))
  return { time, known, expired, add }
}

function holdOf(id: string, clientId: string, expiresAt: number): KnownHold {
  const names = { id, clientId, route: '/a', counters: ['key'], policy: 'own', held: id }
  return { ...names, granted: { tokens: 5 }, openedAt: 0, expiresAt }
}

const ids = (holds: readonly KnownHold[]): string[] => holds.map(({ id }) => id)

test('holds are listed by client, the latest first, until they end', () => {
  const { known, add } = setUp()
  add('one')
  add('two')
  add('other', 'bob')
  expect(ids(known.ofClient('ada'))).toEqual(['two', 'one'])
  expect(known.remove('one')).toBe(true)
  expect(known.remove('one')).toBe(false)
  expect(ids(known.ofClient('ada'))).toEqual(['two'])
  expect(ids(known.ofClient('nobody'))).toEqual([])
  expect(known.size).toBe(2)
})

test('a hold expires at its end, or at a later one if it was extended, and is reported once', () => {
  const { time, known, expired, add } = setUp()
  add('short', 'ada', 1500)
  add('long', 'ada', 3000)
  add('extended', 'bob', 1500)
  known.extend('extended', 2500)
  time.now = 1499
  expect(known.size).toBe(3)
  time.now = 1500
  expect(known.get('short')).toBeUndefined()
  expect(known.size).toBe(2)
  time.now = 2500
  expect(ids(known.ofClient('bob'))).toEqual([])
  expect(expired).toEqual(['short', 'extended'])
  known.extend('long', 2600)
  time.now = 2600
  expect(known.size).toBe(0)
  expect(expired).toEqual(['short', 'extended', 'long'])
})

test('a hold that has ended does not expire', () => {
  const { time, known, expired, add } = setUp()
  add('one')
  known.remove('one')
  time.now = 5000
  expect(known.size).toBe(0)
  expect(expired).toEqual([])
})

test('the number of holds is bounded, in all and for each client', () => {
  const { known, add } = setUp()
  for (let i = 0; i <= MOST_OF_CLIENT; i++) add(`ada-${i}`)
  expect(known.ofClient('ada')).toHaveLength(MOST_OF_CLIENT)
  for (let i = 0; i <= MOST_KNOWN; i++) add(`other-${i}`, `client-${i}`)
  expect(known.size).toBe(MOST_KNOWN)
  known.remove('ada-0')
  add('one more', 'late')
  expect(ids(known.ofClient('late'))).toEqual(['one more'])
})

test('the id in lists has a fixed length and differs for each hold', () => {
  expect(listedId('a')).toMatch(/^[\w-]{16}$/)
  expect(listedId('a')).not.toBe(listedId('b'))
})
