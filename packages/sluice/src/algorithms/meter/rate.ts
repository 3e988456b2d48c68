// A meter's rate as one whole number, so that the state that was written at it needs one cell for it.
// Bits of it, from the lowest: 6 say how many bits drainPerTick − 1 takes, then those bits, then pace.

import { floorDiv } from '../../core/whole-numbers.ts'

const LENGTH_BITS = 2 ** 6

/** What is left of 2^53. */
const MOST_PACKED = 2 ** 47

/** The rate as one number below 2^53; 0 if it does not fit. */
export function packRate(pace: number, drainPerTick: number): number {
  let bits = 0
  while (2 ** bits < drainPerTick) bits += 1
  const packed = pace * 2 ** bits + drainPerTick - 1
  return packed < MOST_PACKED ? packed * LENGTH_BITS + bits : 0
}

export function paceOf(rate: number): number {
  return floorDiv(floorDiv(rate, LENGTH_BITS), 2 ** (rate % LENGTH_BITS))
}

export function drainPerTickOf(rate: number): number {
  return (floorDiv(rate, LENGTH_BITS) % 2 ** (rate % LENGTH_BITS)) + 1
}
