// Toy stores that fail in every way, under load from several processes: a limit is never exceeded, a refused call is certainly not
// counted, and an unknown one at most once.

import { describe, expect, test } from 'vitest'
import type { Charge } from '../../src/core/call.ts'
import { type Change, compareAndSwapStore, type Decide, transactionStore } from '../../src/engines/index.ts'
import { fixedWindow, SluiceError, type Store, slidingLog, tokenBucket } from '../../src/index.ts'
import { fakeClock } from '../../src/testing/index.ts'
import { type Random, seededRandom } from '../../src/testing/random.ts'
import { toyCompareAndSwapStore, VersionedMap } from './toy-compare-and-swap-store.ts'
import { ToyDatabase, toyTransactionStore } from './toy-transaction-store.ts'

const rules = [
  fixedWindow({ limit: 40, window: '1h', name: 'requests', per: 'user' }),
  tokenBucket({ capacity: 90, refill: 1, every: '1h', name: 'tokens', per: 'org' }),
  slidingLog({ limit: 150, window: '1h', name: 'everybody', per: [] }),
]

const USERS = ['ada', 'bob', 'cyd', 'zoe']
const ORGS = ['acme', 'zinc']

/** Some turns of the event loop. */
async function turns(random: Random): Promise<void> {
  for (let left = random.whole(0, 3); left > 0; left--) await new Promise(setImmediate)
}

const gone = (code: string): Error => Object.assign(new Error(`gone: ${code}`), { code })

/** A transaction that fails now and then: before it begins, rolled back, with its answer lost, or cut off before its commit. */
function failingTransactions(database: ToyDatabase, random: Random): Store<'async'> {
  const { clock, rows } = database
  return transactionStore({
    clock,
    async transact(names: readonly string[], decide: Decide) {
      await turns(random)
      if (random.whole(0, 9) === 0) throw gone('ECONNREFUSED')
      const unlock = await database.lock(names)
      try {
        const values = new Map(names.flatMap((name) => (rows.has(name) ? [[name, rows.get(name)?.value as Uint8Array]] : [])))
        const changes = decide(values, clock.now())
        await turns(random)
        if (random.whole(0, 9) === 0) throw gone('40001')
        if (random.whole(0, 9) === 0) throw gone('cut off')
        for (const { name, value, endsAt } of changes) {
          if (value === undefined) rows.delete(name)
          else rows.set(name, { value, endsAt })
        }
        if (random.whole(0, 9) === 0) throw gone('answer lost')
      } finally {
        unlock()
      }
    },
  })
}

/** Pauses between attempts end at the next turn; longer timers never. */
function pauseOneTurn(delayMs: number, callback: () => void): () => void {
  if (delayMs < 1000) setImmediate(callback)
  return () => {}
}

/** Swaps that fail now and then: not sent, cut off, or with their answer lost. */
function failingSwaps(map: VersionedMap, random: Random): Store<'async'> {
  const clock = fakeClock()
  return compareAndSwapStore<number>({
    clock: { now: clock.now, after: pauseOneTurn },
    now: () => clock.now(),
    random: () => random.whole(0, 99) / 100,
    async read(name) {
      await turns(random)
      if (random.whole(0, 29) === 0) throw gone('ECONNRESET')
      return map.read(name)
    },
    async swap(change: Change, version) {
      await turns(random)
      if (random.whole(0, 19) === 0) throw gone('ECONNREFUSED')
      if (random.whole(0, 39) === 0) throw gone('cut off')
      const isSwapped = await map.swap(change, version)
      if (random.whole(0, 39) === 0) throw gone('answer lost')
      return isSwapped
    },
  })
}

interface Tallied {
  readonly allowed: Map<string, number>
  readonly unknown: Map<string, number>
  readonly outcomes: Map<string, number>
}

function add(counts: Map<string, number>, key: string, amount: number): void {
  counts.set(key, (counts.get(key) ?? 0) + amount)
}

/** Hits from all stores at once; returns the units of each key that were allowed, and those that may have been counted. */
async function storm(stores: readonly Store<'async'>[], random: Random): Promise<Tallied> {
  const tallied: Tallied = { allowed: new Map(), unknown: new Map(), outcomes: new Map() }
  const tallies = stores.map((store) => store.tally(rules))
  const hit = async (charges: readonly Charge[]): Promise<void> => {
    try {
      const figures = await random.pick(tallies).ask({ operation: 'hit', charges })
      const isAllowed = figures.every((figure, i) => i % 3 !== 1 || figure === 0)
      add(tallied.outcomes, isAllowed ? 'allowed' : 'denied', 1)
      if (isAllowed) for (const { rule, key, amount } of charges) add(tallied.allowed, `${rule} ${key}`, amount)
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
      add(tallied.outcomes, error.code, 1)
      if (error.code === 'ERR_STORE_REFUSED') return
      for (const { rule, key, amount } of charges) add(tallied.unknown, `${rule} ${key}`, amount)
    }
  }
  const hits: Promise<void>[] = []
  for (let i = 0; i < 400; i++) {
    const all = [random.pick(USERS), random.pick(ORGS), '*'].map((key, rule) => ({ rule, key, amount: random.whole(1, 3) }))
    hits.push(hit(all.filter((_, rule) => rule === 0 || random.whole(0, 3) > 0)))
    if (random.whole(0, 3) === 0) await new Promise(setImmediate)
  }
  await Promise.all(hits)
  return tallied
}

async function holds(watcher: Store<'async'>, { allowed, unknown }: Tallied, seed: number): Promise<void> {
  const tally = watcher.tally(rules)
  for (const [rule, keys] of [USERS, ORGS, ['*']].entries()) {
    for (const key of keys) {
      const [used] = await tally.ask({ operation: 'get', charges: [{ rule, key, amount: 0 }] })
      const least = allowed.get(`${rule} ${key}`) ?? 0
      const what = `SEED=${seed}, ${rules[rule].name} of ${key}`
      expect(used, `${what} within the limit`).toBeLessThanOrEqual(rules[rule].limit)
      expect(used, `${what}: what was allowed is counted`).toBeGreaterThanOrEqual(least)
      expect(used, `${what}: nothing else but what is unknown`).toBeLessThanOrEqual(least + (unknown.get(`${rule} ${key}`) ?? 0))
    }
  }
}

describe.each(Array.from({ length: 10 }, (_, i) => i))('storm %i', () => {
  test('transactions', async () => {
    const random = seededRandom()
    const database = new ToyDatabase(fakeClock())
    const tallied = await storm(
      Array.from({ length: 3 }, () => failingTransactions(database, random)),
      random,
    )
    await holds(toyTransactionStore(database), tallied, random.seed)
  })

  test('swaps', async () => {
    const random = seededRandom()
    const map = new VersionedMap()
    const tallied = await storm(
      Array.from({ length: 3 }, () => failingSwaps(map, random)),
      random,
    )
    await holds(toyCompareAndSwapStore(map, fakeClock()), tallied, random.seed)
  })
})

test('a storm meets every outcome', async () => {
  const random = seededRandom(7)
  const all = ['allowed', 'denied', 'ERR_STORE_REFUSED', 'ERR_STORE_UNKNOWN'].sort()
  const database = new ToyDatabase(fakeClock())
  expect([...(await storm([failingTransactions(database, random)], random)).outcomes.keys()].sort()).toEqual(all)
  const map = new VersionedMap()
  expect([...(await storm([failingSwaps(map, random), failingSwaps(map, random)], random)).outcomes.keys()].sort()).toEqual(all)
})
