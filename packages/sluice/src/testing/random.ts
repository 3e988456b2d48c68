// Random numbers from a seed. A failing test prints its seed, and the seed repeats the test.

export interface Random {
  readonly seed: number
  /** Returns a whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number
  pick<T>(from: readonly T[]): T
}

/** Makes a source of random numbers. Default seed: the environment variable SEED, else a random one. */
export function seededRandom(seed: number = Number(globalThis.process?.env.SEED ?? Math.floor(Math.random() * 2 ** 31))): Random {
  let state = seed | 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1))
  return { seed, whole, pick: (from) => from[whole(0, from.length - 1)] }
}
