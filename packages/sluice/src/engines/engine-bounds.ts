// Checks the bounds that the author of a store passes to an engine.

import { SluiceError, show } from '../core/errors.ts'
import { isWhole } from '../core/whole-numbers.ts'

type Bounds = Readonly<Record<string, number>>

/** Returns the given bounds, or their defaults. Throws ERR_OPTION unless each is a whole number of at least 1. */
export function checkBounds<B extends Bounds>(maker: string, given: Partial<Record<keyof B, unknown>>, defaults: B): Bounds & B {
  const bounds: Record<string, number> = { ...defaults }
  for (const name of Object.keys(defaults)) {
    const value = given[name] ?? defaults[name]
    if (!isWhole(value, 1)) {
      const message = `${maker} needs ${name} to be a whole number of at least 1, got ${show(value)}`
      throw new SluiceError('ERR_OPTION', message, { option: name, value })
    }
    bounds[name] = value
  }
  return bounds as Bounds & B
}
