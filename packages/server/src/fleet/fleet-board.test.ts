// The board of the fleet: the same behaviour and bounds on every database.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DATABASE_NAMES, openConnected, TEST_DATABASES, type TestDatabase } from '../../test/databases/test-database.ts'
import { FORGOTTEN_MS, MOST_INSTANCES, MOST_TEXT_CHARACTERS } from './fleet-board.ts'

describe.each(DATABASE_NAMES)('%s', (name) => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await TEST_DATABASES[name]()
  })
  beforeEach(() => database.clear())
  afterAll(() => database.stop())

  test('has the last text of each instance, with its age, for all instances', async () => {
    const boards = [(await openConnected(database)).fleet, (await openConnected(database)).fleet]
    expect(await boards[0].read()).toEqual([])
    const text = `{"a":"ä 🦉 \\u0000 ' ? $1 ${'x'.repeat(MOST_TEXT_CHARACTERS - 40)}"}`
    await boards[0].publish('one', 'old')
    await boards[0].publish('one', text)
    await boards[1].publish('two', '{}')
    for (const board of boards) {
      const found = [...(await board.read())].sort((a, b) => (a.id < b.id ? -1 : 1))
      expect(found.map(({ id, text }) => [id, text])).toEqual([
        ['one', text],
        ['two', '{}'],
      ])
      for (const { ageMs } of found) expect(ageMs).toBeLessThan(FORGOTTEN_MS / 2)
    }
  })

  test('forgets an instance that has not published for too long, also on the board itself', async () => {
    const { fleet } = await openConnected(database)
    await fleet.publish('old', '{}')
    await database.ageFleet('old', FORGOTTEN_MS - 60_000)
    const [old] = await fleet.read()
    expect(old.ageMs).toBeGreaterThanOrEqual(FORGOTTEN_MS - 60_000)
    await database.ageFleet('old', 61_000)
    expect(await fleet.read()).toEqual([])
    await fleet.publish('new', '{}')
    expect(await database.fleetIds()).toEqual(['new'])
  })

  test('keeps a bounded number of instances: those that published last', async () => {
    const { fleet } = await openConnected(database)
    await fleet.publish('first', '{}')
    await database.ageFleet('first', 1000)
    for (let i = 0; i < MOST_INSTANCES; i++) await fleet.publish(`i${i}`, '{}')
    const ids = await database.fleetIds()
    expect(ids).toHaveLength(MOST_INSTANCES)
    expect(ids).not.toContain('first')
  })
})
