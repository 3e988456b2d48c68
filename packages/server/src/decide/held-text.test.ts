import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fullHeld, shortHeld } from './held-text.ts'

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^["\\\0$&ab]{0,6}$/))

test('a short form leads back to its name, whatever name and key contain', () => {
  fc.assert(
    fc.property(fc.array(text), text, fc.boolean(), (parts, key, isJson) => {
      const held = isJson ? JSON.stringify(parts.flatMap((part) => [part, key])) : parts.join(JSON.stringify(key))
      expect(fullHeld(shortHeld(held, key), key)).toBe(held)
    }),
  )
})

test('the length does not depend on the number of rules that repeat the key', () => {
  const key = 'k'.repeat(2000)
  const held = JSON.stringify(Array.from({ length: 16 }, (_, i) => [`rule-${i}`, key, 1]))
  expect(shortHeld(held, key).length).toBeLessThan(400)
})
