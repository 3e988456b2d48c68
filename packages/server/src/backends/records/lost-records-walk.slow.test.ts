// Random walks of four instances over a database that loses records repeatedly. The seed is printed; SEED=… repeats a walk.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../../test/rounds.ts'
import { DATABASE_NAMES, TEST_DATABASES, type TestDatabase } from '../../../test/databases/test-database.ts'
import { readStore } from '../../config/store-address.ts'
import { ServerError } from '../../errors.ts'
import type { Change } from '../../records.ts'
import type { OpenedDatabase } from '../database.ts'
import { type DatabaseAddress, openDatabase } from '../databases.ts'
import { SharedRecords } from './shared-records.ts'

/** Steps in SQLite are the fastest. */
const WALKS = {
  redis: roundsOf({ usual: 20, long: 60 }),
  postgres: roundsOf({ usual: 5, long: 60 }),
  sqlite: roundsOf({ usual: 40, long: 60 }),
}
const STEPS = 40
const INSTANCES = 4
/** Rounds of polling and restoring after which all instances must agree: one for each branch, and one to learn of it. */
const ROUNDS = 2 * INSTANCES + 2

/** Numbers below `n`, the same for the same seed. */
function randomBelow(seed: number): (n: number) => number {
  let state = seed >>> 0
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * n)
  }
}

describe.each(DATABASE_NAMES)('%s', (name) => {
  let database: TestDatabase
  let opened: OpenedDatabase

  beforeAll(async () => {
    database = await TEST_DATABASES[name]()
    const options = { onError: () => {}, onChange: () => {}, maxKeys: 1000, timeoutMs: 1000 }
    opened = await openDatabase(readStore(database.store) as DatabaseAddress, options)
    await opened.connect()
  })
  afterAll(async () => {
    await opened.close()
    await database.stop()
  })

  class Walker {
    records = new SharedRecords({ database: opened.records })
    /** Keys that this instance has seen revoked since it started. */
    readonly revoked = new Set<string>()

    /** Restarts, with its copy or without. */
    restart(withCopy: boolean): void {
      const { known } = this.records
      this.records = new SharedRecords({ database: opened.records })
      this.revoked.clear()
      if (!withCopy || known === undefined) return
      const copied = (['policy', 'key'] as const).flatMap((kind) =>
        [...known.tables[kind]].map(([id, value]) => ({ kind, id, value })),
      )
      this.records.loadCopy({ records: copied, position: known.position, marks: known.marks })
    }

    check(): void {
      const keys = this.records.all('key') as ReadonlyMap<string, { revokedAt?: number }>
      for (const id of this.revoked) expect(keys.get(id)?.revokedAt, `${id} was seen revoked`).toBeDefined()
      for (const [id, { revokedAt }] of keys) if (revokedAt !== undefined) this.revoked.add(id)
    }

    tables() {
      const keys = [...(this.records.all('key') as ReadonlyMap<string, { revokedAt?: number }>)]
      return {
        policy: new Map([...this.records.all('policy')].sort()),
        // The time of a revocation may differ for a moment, until the earliest time is written again.
        isAlive: new Map(keys.map(([id, { revokedAt }]) => [id, revokedAt === undefined] as const).sort()),
      }
    }
  }

  async function walk(seed: number): Promise<void> {
    const below = randomBelow(seed)
    await database.clear()
    let back = async (): Promise<void> => {}
    const walkers = Array.from({ length: INSTANCES }, () => new Walker())
    const change = ({ records }: Walker): Change => {
      const id = `r${below(4)}`
      if (below(2) === 0) return { kind: 'policy', id, value: below(4) === 0 ? undefined : below(100) }
      const known = records.all('key').get(id) as object | undefined
      return {
        kind: 'key',
        id,
        value: known === undefined ? { sha256: id } : { ...known, ...(below(2) === 0 && { revokedAt: 1 + below(9) }) },
      }
    }
    const steps: (() => Promise<unknown>)[] = [
      ...Array.from({ length: 5 }, () => () => walkers[below(INSTANCES)].records.poll()),
      ...Array.from({ length: 6 }, () => async () => {
        const one = walkers[below(INSTANCES)]
        // Only records that were read are changed, as the key ring does.
        await one.records.poll()
        await one.records.commit([change(one)])
      }),
      async () => {
        // A poll makes the tables, if they have just been dropped.
        await walkers[0].records.poll()
        back = await database.snapshot()
      },
      () => back(),
      () => database.clear(),
      async () => walkers[below(INSTANCES)].restart(below(4) > 0),
      () => walkers[below(INSTANCES)].records.restore({ dryRun: below(2) === 0 }),
    ]
    for (let step = 0; step < STEPS; step++) {
      await steps[below(steps.length)]().catch(expectRefusal)
      for (const one of walkers) one.check()
    }
    await agree(walkers)
  }

  /** Restores until nothing is lost. Then all instances have the same records, and no key that one of them saw revoked is valid. */
  async function agree(walkers: readonly Walker[]): Promise<void> {
    for (let round = 1; ; round++) {
      // Ten seconds pass, so the notice of an instance that is gone expires.
      await database.remove('notice')
      for (const one of walkers) await one.records.poll()
      for (const one of walkers) await one.records.restore({ dryRun: false }).catch(expectRefusal)
      // A running instance writes what it owes after each poll.
      for (const one of walkers) await one.records.poll().then(() => one.records.writeOwed().catch(expectRefusal))
      for (const one of walkers) await one.records.poll()
      for (const one of walkers) one.check()
      if (walkers.every(({ records }) => records.loss === undefined)) break
      expect(round, 'rounds of restoring').toBeLessThan(ROUNDS)
    }
    const fresh = new Walker()
    await fresh.records.poll()
    const [first, ...others] = [...walkers, fresh].map((one) => one.tables())
    for (const other of others) expect(other).toEqual(first)
    for (const { revoked } of walkers) {
      for (const id of revoked) expect(first.isAlive.get(id)).toBe(false)
    }
  }

  function expectRefusal(error: unknown): void {
    expect(error).toBeInstanceOf(ServerError)
    expect(['ERR_RECORDS_LOST', 'ERR_RECORDS_BEHIND', 'ERR_CONFLICT']).toContain((error as ServerError).code)
  }

  test('after any losses, no revoked key becomes valid again, and all instances agree in the end', async () => {
    const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
    const seeds = process.env.SEED === undefined ? Array.from({ length: WALKS[name] }, (_, i) => seed + i) : [seed]
    for (const each of seeds) {
      try {
        await walk(each)
      } catch (error) {
        console.error(`SEED=${each}`)
        throw error
      }
    }
  })
})
