// A rule as arguments of a Redis program: its algorithm, and its parameters in the order of the translation.
// Invariant: a rule has exactly the parameters that its translation reads.

import { SluiceError, show } from '../../core/errors.ts'
import type { Rule } from '../../core/rule.ts'
import { ALGORITHMS, FLAGS } from './program.ts'

/**
 * Returns a rule's arguments, all as texts: flags are '1' and '0'. If all flags have their usual values, the arguments have none, and
 * the algorithm is called plain. Throws ERR_RULE if there is no translation of the rule.
 */
export function programArguments({ algorithm, parameters }: Rule): readonly string[] {
  if (!Object.hasOwn(ALGORITHMS, algorithm)) {
    const known = Object.keys(ALGORITHMS).join(', ')
    throw new SluiceError('ERR_RULE', `the Redis program does not know the algorithm ${show(algorithm)}: it knows ${known}`)
  }
  const { parameters: names, translation } = ALGORITHMS[algorithm]
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
  const flags = FLAGS[translation]
  const flagNames = Object.keys(flags)
  const isPlain = flagNames.length > 0 && flagNames.every((name) => parameters[name] === flags[name])
  const sent = isPlain ? names.filter((name) => !flagNames.includes(name)) : names
  return [isPlain ? `plain-${algorithm}` : algorithm, ...sent.map((name) => String(Number(parameters[name])))]
}
