// The suite for stores on real files, with every driver that this runtime can load.

import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../test/rounds.ts'
import { DRIVERS } from '../../../../test/servers/sqlite-drivers.mjs'
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts'
import { fakeClock, storeSuite } from '../../src/testing/index.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { RECORD_RULES, recordWalk } from '../record-walk.ts'
import { freshTable, sqliteFiles } from './files.ts'

const files = sqliteFiles()

describe.each(Object.keys(DRIVERS))('%s', (driver) => {
  const database = files.open(files.fresh(), driver)
  const steps = roundsOf({ usual: 1000, long: 5000 })
  storeSuite(`a file through ${driver}`, (clock) => sqliteStore(database, { clock, table: freshTable() }), { steps })

  const inMemory = files.open(':memory:', driver)
  storeSuite(`no file through ${driver}`, (clock) => sqliteStore(inMemory, { clock, table: freshTable() }), { steps: 100 })

  test.each(Object.entries(RECORD_RULES))('records answer as the definitions do: %s', async (_, rules) => {
    const clock = fakeClock()
    const store = sqliteStore(database, { clock, table: freshTable() })
    const denied = await recordWalk({ store, rules, clock, random: seededRandom(), steps: 1500, stepsBack: true })
    expect(denied).toBeGreaterThan(100)
  })
})
