import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { sha256 } from './sha256.ts'
import { nameOfKey, nameOfState } from './state-names.ts'

const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 })
const tricky = fc.oneof(
  text,
  fc.string({ unit: fc.constantFrom('|', '%', '0', '7', 'c', '\0', ' ', 'h', '\ud83d'), minLength: 1 }),
)
const per = fc.constantFrom(undefined, [], ['user'], ['org', 'user'])

test('different states have different names', () => {
  const state = fc.record({ key: tricky, name: tricky, per })
  fc.assert(
    fc.property(state, state, (a, b) => {
      const nameOf = ({ key, name, per }: typeof a): string => nameOfState(fixedWindow({ limit: 1, window: 1, name, per }), key)
      const areEqual = a.key === b.key && a.name === b.name && a.per?.join() === b.per?.join()
      return (nameOf(a) === nameOf(b)) === areEqual
    }),
    { numRuns: 5000 },
  )
})

test('names are short, printable ASCII without spaces', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 400 }),
      fc.integer({ min: 66, max: 300 }),
      (key, longest) => {
        expect(nameOfKey(key, longest)).toMatch(/^[!-~]+$/)
        expect(nameOfKey(key, longest).length).toBeLessThanOrEqual(longest)
      },
    ),
  )
})

test('a name says its key and its rule', () => {
  expect(nameOfState(fixedWindow({ limit: 5, window: '1m' }), 'ada')).toBe('ada|fixed-window%0000fixed-window:5/1m')
  expect(nameOfKey('é|%')).toBe('%00e9%007c%0025')
})

test('a long name is its hash, and stays apart from a key that looks like one', () => {
  const long = 'x'.repeat(256)
  expect(nameOfKey(long)).toBe(`%h${createHash('sha256').update(long).digest('hex')}`)
  expect(nameOfKey('x'.repeat(255))).toBe('x'.repeat(255))
  expect(nameOfKey(nameOfKey(long))).not.toBe(nameOfKey(long))
})

test('the hash is SHA-256', () => {
  for (let length = 0; length < 300; length++) {
    const text = 'ab%|c'.repeat(60).slice(0, length)
    expect(sha256(new TextEncoder().encode(text))).toBe(createHash('sha256').update(text).digest('hex'))
  }
})
