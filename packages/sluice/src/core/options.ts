// Checks options. The error about an unknown name lists the known ones.

import { mustBe, SluiceError, show } from './errors.ts'
import { isWhole } from './whole-numbers.ts'

/** Throws ERR_OPTION if `options` is not an object, or has a name that is not in `known`. */
export function checkOptions(caller: string, options: unknown, known: readonly string[]): void {
  if (options === null || typeof options !== 'object' || Array.isArray(options)) {
    throw new SluiceError('ERR_OPTION', `${caller} takes an object of options, got ${show(options)}`)
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    throw new SluiceError('ERR_OPTION', `${caller} has no option ${show(name)}: there is ${known.join(', ')}`, { option: name })
  }
}

/** Throws ERR_OPTION unless `value` is a whole number from `least` to `most`. */
export function checkNumber(name: string, value: unknown, least: number, most: number): void {
  if (isWhole(value, least, most)) return
  throw mustBe('ERR_OPTION', name, `a whole number from ${least} to ${most}`, value)
}
