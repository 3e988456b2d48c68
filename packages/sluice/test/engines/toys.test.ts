// Each engine carries a store of a few lines through the whole suite.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { createLimiter, fixedWindow, type Store, tokenBucket } from '../../src/index.ts'
import { fakeClock, storeSuite } from '../../src/testing/index.ts'
import { toyCompareAndSwapStore, VersionedMap } from './toy-compare-and-swap-store.ts'
import { mapStore } from './toy-in-place-store.ts'
import { ToyServer, toyScriptedStore } from './toy-scripted-store.ts'
import { ToyDatabase, toyTransactionStore } from './toy-transaction-store.ts'

const steps = 1000
storeSuite('toy, in place', (clock) => mapStore(clock), { steps })
storeSuite('toy, scripted', (clock) => toyScriptedStore(new ToyServer(clock), clock), { steps })
storeSuite('toy, transaction', (clock) => toyTransactionStore(new ToyDatabase(clock)), { steps })
storeSuite('toy, compare and swap', (clock) => toyCompareAndSwapStore(new VersionedMap(), clock), { steps })

/** A clock that stands still, with timers that fire at once, so that competing processes go on after a pause. */
const stopped = { now: fakeClock().now, after: (delayMs: number, callback: () => void) => timer(delayMs, callback) }

function timer(delayMs: number, callback: () => void): () => void {
  const timeout = setTimeout(callback, delayMs)
  return () => clearTimeout(timeout)
}

describe('several processes let exactly the limit through a stampede', () => {
  const rules = [
    fixedWindow({ limit: 100, window: '1h', name: 'requests', per: 'user' }),
    tokenBucket({ capacity: 70, refill: 1, every: '1d', name: 'tokens', per: 'org' }),
  ]

  test.each([
    ['scripted', () => toyScriptedStore.bind(undefined, new ToyServer(stopped), stopped)],
    ['transaction', () => toyTransactionStore.bind(undefined, new ToyDatabase(stopped))],
    ['compare and swap', () => toyCompareAndSwapStore.bind(undefined, new VersionedMap(), stopped)],
  ] as const)('%s', async (_, prepare) => {
    const makeStore: () => Store<'async'> = prepare()
    const limiters = Array.from({ length: 4 }, () => createLimiter({ rules, store: makeStore(), failure: { timeoutMs: 20_000 } }))
    const hits: Promise<{ readonly allowed: boolean }>[] = []
    for (let i = 0; i < 300; i++) {
      hits.push(limiters[i % 4].hit({ user: 'ada', org: 'acme' }))
      if (i % 10 === 0) await new Promise(setImmediate)
    }
    expect((await Promise.all(hits)).filter(({ allowed }) => allowed)).toHaveLength(70)
    expect(await limiters[0].get({ user: 'ada', org: 'acme' })).toBe(70)
  })
})

describe.each(['in-place', 'scripted', 'transaction', 'compare-and-swap'])('the toy of %s', (engine) => {
  const text = readText(`toy-${engine}-store.ts`)

  test('is short', () => {
    expect(text.trimEnd().split('\n').length).toBeLessThan(60)
  })

  test('is the one in the guide', () => {
    const [, body] = text.split(/^import .*\n\n/m)
    expect(body.length).toBeGreaterThan(300)
    expect(readText('../../../../docs/guides/writing-a-store.md')).toContain(body)
  })
})

function readText(path: string): string {
  return readFileSync(fileURLToPath(new URL(path, import.meta.url)), 'utf8')
}
