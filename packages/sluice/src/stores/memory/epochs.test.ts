import { expect, test } from 'vitest'
import { Epochs } from './epochs.ts'

/** Returns the number of epochs that 8,000 claims take. */
function epochsOf({ tableRows, storeRows, isOwn }: { tableRows: number; storeRows: number; isOwn: boolean }): number {
  const epochs = new Epochs()
  for (let i = 0; i < 8000; i++) epochs.countClaim(tableRows, storeRows, isOwn)
  return epochs.present
}

test('an epoch is an eighth of the rows: of its table for claims in it, of the store for claims in others', () => {
  expect(epochsOf({ tableRows: 4000, storeRows: 4000, isOwn: true })).toBe(16)
  expect(epochsOf({ tableRows: 1000, storeRows: 4000, isOwn: true })).toBe(64)
  expect(epochsOf({ tableRows: 1000, storeRows: 4000, isOwn: false })).toBe(16)
  expect(epochsOf({ tableRows: 1, storeRows: 32_000, isOwn: false })).toBe(2)
})

test('their number is a byte', () => {
  expect(epochsOf({ tableRows: 200, storeRows: 200, isOwn: true })).toBe(320 % 256)
})
