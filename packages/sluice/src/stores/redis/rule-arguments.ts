// A rule as arguments of a Redis program: its algorithm, and its parameters in the order of the translation.
// Invariant: a rule has exactly the parameters that its translation reads.

import { SluiceError, show } from '../../core/errors.ts'
import type { Rule } from '../../core/rule.ts'
import { ALGORITHMS } from './program.ts'

/** Returns a rule's arguments, all as texts: flags are '1' and '0'. Throws ERR_RULE if there is no translation of the rule. */
export function programArguments({ algorithm, parameters }: Rule): readonly string[] {
  if (!Object.hasOwn(ALGORITHMS, algorithm)) {
    const known = Object.keys(ALGORITHMS).join(', ')
    throw new SluiceError('ERR_RULE', `the Redis program does not know the algorithm ${show(algorithm)}: it knows ${known}`)
  }
  const names = ALGORITHMS[algorithm].parameters
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
  return [algorithm, ...names.map((name) => String(Number(parameters[name])))]
}
