// Packs a meter's rate (pace and drainPerTick) into one whole number, so that a state needs one cell for it.
// Layout, from the lowest bit: 6 bits with the length of drainPerTick − 1 (in bits); then drainPerTick − 1; then pace.

import { floorDiv } from '../../core/whole-numbers.ts'

const LENGTH_BITS = 2 ** 6

/** 2^53 without the 6 bits of the length. */
const MOST_PACKED = 2 ** 47

/** Returns the rate as one number below 2^53; 0 if it does not fit. */
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
