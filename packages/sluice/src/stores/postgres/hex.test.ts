import { expect, test } from 'vitest'
import { fromHex, toHex } from './hex.ts'

test('every byte comes back', () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)
  expect(toHex(bytes)).toBe(Buffer.from(bytes).toString('hex'))
  expect(fromHex(toHex(bytes))).toEqual(bytes)
  expect(fromHex('')).toEqual(new Uint8Array())
})
