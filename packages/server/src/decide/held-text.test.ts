import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fullHeld, shortHeld } from './held-text.ts'

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^["\\\0$&ab]{0,6}$/))

test('a short form leads back to its name, whatever name and texts contain', () => {
  fc.assert(
    fc.property(fc.array(text), fc.array(text, { maxLength: 18 }), fc.boolean(), (parts, texts, isJson) => {
      const key = `r${texts.join(':')}`
      const held = isJson ? JSON.stringify(parts.flatMap((part) => [part, key])) : parts.join(JSON.stringify(key))
      expect(fullHeld(shortHeld(held, texts), texts)).toBe(held)
    }),
  )
})

test('the length hardly depends on the number of rules that repeat the texts of the request', () => {
  const [client, route, org] = ['c', 'r', 'o'].map((letter) => letter.repeat(2000))
  const keys = [`r2000:${client}${route}`, `n3:orgorg=2000:${org}`]
  const held = JSON.stringify(Array.from({ length: 16 }, (_, i) => [`rule-${i}`, keys[i % 2], 1]))
  expect(shortHeld(held, [client, route, org]).length).toBeLessThan(700)
})
