// A rule as an argument of the Redis program: its algorithm, and its parameters in the order of the translation.
// Invariant: a rule has exactly the parameters that its translation reads.

import { SluiceError, show } from '../../core/errors.ts'
import type { Rule } from '../../core/rule.ts'
import { PARAMETERS } from './program.ts'

/** Returns a rule's arguments. Throws ERR_RULE if the program has no translation of the rule. */
export function programArguments({ algorithm, parameters }: Rule): readonly (string | number | boolean)[] {
  if (!Object.hasOwn(PARAMETERS, algorithm)) {
    const known = Object.keys(PARAMETERS).join(', ')
    throw new SluiceError('ERR_RULE', `the Redis program does not know the algorithm ${show(algorithm)}: it knows ${known}`)
  }
  const names = PARAMETERS[algorithm]
  const wrong = [
    ...names.filter((name) => !Object.hasOwn(parameters, name)),
    ...Object.keys(parameters).filter((name) => !names.includes(name)),
  ]
  if (wrong.length > 0) {
    throw new SluiceError(
      'ERR_RULE',
      `the Redis program needs a ${algorithm} to have the parameters ${names.join(', ')}: not so with ${wrong.join(', ')}`,
    )
  }
  return [algorithm, ...names.map((name) => parameters[name])]
}
