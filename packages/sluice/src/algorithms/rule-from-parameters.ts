// Makes a rule again from its algorithm and parameters, as a store sends them to a program that has the definitions.
// Invariant: the rule has exactly the parameters that were passed, so it decides as the rule that they came from.

import { SluiceError, show } from '../core/errors.ts'
import type { Rule, RuleParameters } from '../core/rule.ts'
import { isWhole, MAX_TIME_MS } from '../core/whole-numbers.ts'
import { BoundedWindow } from './calendar-window/bounded-window.ts'
import { concurrency } from './concurrency/concurrency.ts'
import { fixedWindow } from './fixed-window/fixed-window.ts'
import { slidingLog } from './sliding-log/sliding-log.ts'
import { slidingWindow } from './sliding-window/sliding-window.ts'
import { tokenBucket } from './token-bucket/token-bucket.ts'

type Numbers = Readonly<Record<string, number>>

/** The name of rules that are made here. They decide, and their states have the names of other rules. */
const name = 'made'

/** A smooth meter has `drainPerTick` tokens in `unitsPerToken` ms, whatever its maker was. */
const smoothMeter = ({ limit, drainPerTick, unitsPerToken }: Numbers): Rule =>
  tokenBucket({ name, capacity: limit, refill: drainPerTick, every: unitsPerToken })

const steppedMeter = ({ limit, drainPerTick, tickMs }: Numbers): Rule =>
  tokenBucket({ name, capacity: limit, refill: drainPerTick, every: tickMs, style: 'stepped' })

/** A calendar window between its boundaries. */
const boundedWindow = ({ limit, startOfLast, startOfThis, startOfNext, endOfNext }: Numbers): Rule => {
  const times = [startOfLast, startOfThis, startOfNext, endOfNext]
  const areBoundaries = times.every((time, i) => isWhole(time, i === 0 ? -MAX_TIME_MS : times[i - 1] + 1, MAX_TIME_MS))
  if (!areBoundaries || !isWhole(limit, 1)) {
    throw new SluiceError('ERR_RULE', `a calendar-window has a limit and four boundaries, each later than the one before`)
  }
  return new BoundedWindow({ name, per: undefined, limit }, { startOfLast, startOfThis, startOfNext, endOfNext })
}

/** A function for each algorithm, as `rule.algorithm` names it. Flags come as 1 and 0. */
const MAKERS: Readonly<Record<string, (parameters: Numbers) => Rule>> = {
  'fixed-window': ({ limit, windowMs, isOnClock, elastic, countsDenied }) =>
    fixedWindow({
      ...{ name, limit, window: windowMs, anchor: isOnClock ? 'clock' : 'first-hit' },
      ...{ elastic: elastic === 1, countDenied: countsDenied === 1 },
    }),
  'sliding-log': ({ limit, windowMs }) => slidingLog({ name, limit, window: windowMs }),
  'sliding-window': ({ limit, windowMs, isOnClock, roundsDown }) =>
    slidingWindow({
      ...{ name, limit, window: windowMs },
      ...{ anchor: isOnClock ? 'clock' : 'first-hit', round: roundsDown ? 'down' : 'none' },
    }),
  // The time of a place comes with each call.
  concurrency: ({ limit }) => concurrency({ name, limit, ttl: 1 }),
  meter: smoothMeter,
  'wide-meter': smoothMeter,
  'stepped-meter': steppedMeter,
  'wide-stepped-meter': steppedMeter,
  'calendar-window': boundedWindow,
}

/** Makes the rule with these parameters. Throws ERR_RULE if there is none. */
export function ruleFromParameters(algorithm: string, parameters: RuleParameters): Rule {
  if (typeof algorithm !== 'string' || !Object.hasOwn(MAKERS, algorithm)) {
    const message = `the algorithm ${show(algorithm)} is not known here: there is ${Object.keys(MAKERS).join(', ')}`
    throw new SluiceError('ERR_RULE', message, { option: 'algorithm', value: algorithm })
  }
  const given = Object.entries(Object(parameters)) as [string, unknown][]
  const rule = MAKERS[algorithm](Object.fromEntries(given.map(([key, value]) => [key, Number(value)])))
  const own = Object.entries(rule.parameters)
  const isSame =
    rule.algorithm === algorithm && own.length === given.length && own.every(([key, value]) => Object.is(parameters[key], value))
  if (isSame) return rule
  const shown = show(JSON.stringify(parameters))
  throw new SluiceError('ERR_RULE', `no ${algorithm} has the parameters ${shown}`, { option: 'parameters' })
}
