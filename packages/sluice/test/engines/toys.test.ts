// Each engine carries a store of a few lines through the whole suite.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { storeSuite } from '../../src/testing/index.ts'
import { toyCompareAndSwapStore, VersionedMap } from './toy-compare-and-swap-store.ts'
import { mapStore } from './toy-in-place-store.ts'
import { ToyDatabase, toyTransactionStore } from './toy-transaction-store.ts'

const steps = 1000
storeSuite('toy, in place', (clock) => mapStore(clock), { steps })
storeSuite('toy, transaction', (clock) => toyTransactionStore(new ToyDatabase(clock)), { steps })
storeSuite('toy, compare and swap', (clock) => toyCompareAndSwapStore(new VersionedMap(), clock), { steps })

describe('a toy is short', () => {
  test.each(['in-place', 'transaction', 'compare-and-swap'])('%s', (engine) => {
    const text = readFileSync(fileURLToPath(new URL(`toy-${engine}-store.ts`, import.meta.url)), 'utf8')
    expect(text.trimEnd().split('\n').length).toBeLessThan(60)
  })
})
