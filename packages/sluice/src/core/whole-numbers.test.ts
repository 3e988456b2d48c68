import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ceilMulDiv, MAX } from './whole-numbers.ts'

const whole = fc.oneof(
  fc.maxSafeNat(),
  fc.nat({ max: 1000 }),
  fc.nat({ max: 1000 }).map((less) => MAX - less),
)

test('a product that passes 2^53 is divided exactly, and rounded up', () => {
  fc.assert(
    fc.property(whole, whole, whole, (factor, times, divisor) => {
      fc.pre(factor < divisor)
      const exact = (BigInt(factor) * BigInt(times) + BigInt(divisor) - 1n) / BigInt(divisor)
      expect(BigInt(ceilMulDiv(factor, times, divisor))).toBe(exact)
    }),
    { numRuns: 20_000 },
  )
})
