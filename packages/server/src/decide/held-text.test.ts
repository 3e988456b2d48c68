import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fullHeld, LONGEST_HELD, shortHeld } from './held-text.ts'

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

test('a short form that stands for more than any name is not written out', () => {
  const route = '\u0001'.repeat(2048)
  const before = process.memoryUsage().heapUsed
  expect(fullHeld(`-${'\u0001'.repeat(100_000)}`, ['ada', route])).toBe('')
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000)
  const most = Math.floor(LONGEST_HELD / JSON.stringify(route).slice(1, -1).length)
  expect(fullHeld(`-${'\u0001'.repeat(most)}`, ['ada', route]).length).toBeGreaterThan(LONGEST_HELD - 20_000)
  expect(fullHeld(`-${'\u0001'.repeat(most + 1)}`, ['ada', route])).toBe('')
})

test('the length hardly depends on the number of rules that repeat the texts of the request', () => {
  const [client, route, org] = ['c', 'r', 'o'].map((letter) => letter.repeat(2000))
  const keys = [`r2000:${client}${route}`, `n3:orgorg=2000:${org}`]
  const held = JSON.stringify(Array.from({ length: 16 }, (_, i) => [`rule-${i}`, keys[i % 2], 1]))
  expect(shortHeld(held, [client, route, org]).length).toBeLessThan(700)
})
