// Checks the option `failure` of a limiter.

import { SluiceError, show } from '../core/errors.ts'
import type { FailureOptions } from '../core/guard.ts'
import { checkOptions } from '../core/options.ts'
import { isWhole } from '../core/whole-numbers.ts'

/** The options with their defaults. `standIn` has no default. */
export type CheckedFailure = Required<Omit<FailureOptions, 'standIn'>> & Pick<FailureOptions, 'standIn'>

const OPTIONS = ['timeoutMs', 'then', 'failures', 'probeEveryMs', 'standIn'] as const
const THEN = ['local', 'allow', 'deny', 'throw'] as const

/** The longest time of a timer. */
const MOST = 2 ** 31 - 1

export function checkFailure(options: FailureOptions): CheckedFailure {
  checkOptions('failure', options, OPTIONS)
  const { timeoutMs = 500, then = 'throw', failures = 5, probeEveryMs = 500, standIn } = options
  for (const [name, value] of Object.entries({ timeoutMs, failures, probeEveryMs })) {
    if (isWhole(value, 1, MOST)) continue
    const message = `failure needs ${name} to be a whole number from 1 to ${MOST}, got ${show(value)}`
    throw new SluiceError('ERR_OPTION', message, { option: name, value })
  }
  if (!THEN.includes(then)) {
    throw new SluiceError('ERR_OPTION', `failure needs then to be ${THEN.map((t) => `'${t}'`).join(' or ')}, got ${show(then)}`, {
      option: 'then',
      value: then,
    })
  }
  if (standIn === undefined) return { timeoutMs, then, failures, probeEveryMs }
  if (then !== 'local')
    throw new SluiceError('ERR_OPTION', `failure takes standIn only with then: 'local', got ${show(then)}`, {
      option: 'standIn',
      value: standIn,
    })
  if (standIn?.timing !== 'sync' || typeof standIn.tally !== 'function') {
    throw new SluiceError(
      'ERR_OPTION',
      `failure needs standIn to be a memory store, such as memoryStore() makes, got ${show(standIn)}`,
      {
        option: 'standIn',
        value: standIn,
      },
    )
  }
  return { timeoutMs, then, failures, probeEveryMs, standIn }
}
