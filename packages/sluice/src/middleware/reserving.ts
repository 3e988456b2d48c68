// The door `sluice/reserving`: the option `reserve` of every middleware. It holds units for a request, and settles them with its
// response.

import type { Decision } from '../core/decision.ts'
import { SluiceError, show } from '../core/errors.ts'
import type { Hold } from '../core/reserving.ts'
import type { Rule } from '../core/rule.ts'
import type { Cost } from '../core/subject.ts'
import { costsByRule } from '../core/subject.ts'
import { holds } from '../holds/holds.ts'
import { warnProcess } from '../http/warning.ts'
import { notHeld } from '../streams/counting.ts'
import { type HoldTimes, holdTimes } from '../streams/hold-keeper.ts'
import { costOf } from './gate/costs.ts'
import type { GateLimiter } from './gate/gate-limiter.ts'
import { andThen, type MaybePromise } from './gate/maybe-promise.ts'
import type { AnyOptions, GateWarning } from './gate/options.ts'
import { freshRules } from './gate/other-limiters.ts'
import type { GateContext } from './gate/request-context.ts'
import type { Reserve } from './gate/reserve.ts'
import { RequestHold } from './reserving/request-hold.ts'
import { checkReserving, checkUnits, counterOf, type ReservingOptions } from './reserving/reserve-options.ts'

export type { EndedResponse, ReservingOptions } from './reserving/reserve-options.ts'

/** Holds of requests whose response has not ended. */
const HOLDS = new WeakMap<object, Pick<RequestHold<unknown>, 'names' | 'hasEnded' | 'reported'>>()

/**
 * Makes the option `reserve` of a middleware: `expressLimiter({ rules: concurrency({ limit: 10, ttl: '1m' }), reserve: reserving() })`.
 */
export function reserving<R>(options: ReservingOptions<R> = {}): Reserve<R> {
  checkReserving(options)
  const { most, hold } = options
  let warn: (warning: GateWarning) => void = warnProcess
  const onError = (error: unknown): void => {
    warn({ code: 'WARN_SETTLE_FAILED', message: `units that were held for a request could not be settled as used: ${error}` })
    warn = () => {}
  }
  return {
    holds: holds(most === undefined ? {} : { most }),
    check(door, rules, gate) {
      if (gate.warn !== undefined) warn = gate.warn
      checkHold(door, rules, gate, options)
    },
    hit(_subject, _options, context) {
      if (typeof hold !== 'function') return reserve(context, options, hold, onError)
      return andThen(hold(context.request, context), (units) => {
        checkUnits(units)
        return reserve(context, options, units, onError)
      })
    },
  }
}

/**
 * Reports the units that a request used: they are settled when its response ends. A later report replaces an earlier one. Returns false
 * if nothing is held for the request. `request` is the framework's own object, as callbacks of the middleware get it.
 */
export function reportUsage(request: object, used: Cost): boolean {
  checkUnits(used)
  const held = HOLDS.get(request)
  if (held === undefined || held.hasEnded) return false
  const unknown = typeof used === 'object' && Object.keys(used).find((name) => !held.names.includes(name))
  if (typeof unknown === 'string') throw notHeld(unknown, held.names)
  held.reported = used
  return true
}

function reserve<R>(
  context: GateContext,
  options: ReservingOptions<R>,
  units: Cost | undefined,
  onError: (error: unknown) => void,
): MaybePromise<Decision> {
  const asked = context.limiter as GateLimiter
  const subject = context.key as string
  const { limiter } = asked
  const { rules, clock } = limiter
  const { used, atLeast, expired } = options
  const times = timesOf(rules, options)
  const fresh = context.before === undefined ? rules : freshRules(context, asked, subject)
  const hold = fresh.length === rules.length ? units : freshUnits(rules, fresh, units, context.cost)
  // An earlier gate holds all that this one would hold.
  if (hold !== units && Object.values(hold as object).every((amount) => amount === 0)) {
    return limiter.hit(subject, { cost: context.cost as Cost })
  }
  const count = counterOf(options, context)
  const held = limiter.reserve(subject, {
    ttl: times.ttlMs,
    ...(hold !== undefined && { hold }),
    ...(context.cost !== undefined && { cost: context.cost }),
    ...(atLeast !== undefined && { atLeast }),
    ...(expired !== undefined && { expired }),
  })
  return andThen(held as MaybePromise<Hold>, (hold) => {
    if (hold.allowed) {
      const held = new RequestHold<R>({ hold, context, used, count, times, clock, onError })
      context.held = held
      HOLDS.set(context.request, held)
    }
    return hold.decision
  })
}

/** Returns the units to hold on rules that no earlier gate has charged, and 0 for all others. */
function freshUnits(rules: readonly Rule[], fresh: readonly Rule[], units: Cost | undefined, cost: Cost | undefined): Cost {
  const held = rules.filter((rule) => isHeld(rule, units, cost))
  const isFresh = (rule: Rule): boolean => fresh.includes(rule)
  return Object.fromEntries(held.map((rule) => [rule.name, isFresh(rule) ? costOf(rule.name, units) : 0]))
}

/** True if units of the rule are held, and not spent. */
function isHeld({ name, isHeld = false }: Rule, units: Cost | undefined, cost: Cost | undefined): boolean {
  if (isHeld || typeof units === 'object') return isHeld || Object.hasOwn(units as object, name)
  return units !== undefined && !(typeof cost === 'object' && Object.hasOwn(cost, name))
}

function timesOf<R>(rules: readonly Rule[], { ttl, longest }: ReservingOptions<R>): HoldTimes {
  const ttls = rules.filter(({ isHeld }) => isHeld).map(({ windowMs }) => windowMs)
  return holdTimes(ttl ?? (ttls.length > 0 ? Math.min(...ttls) : '1m'), longest)
}

function checkHold<R>(door: string, rules: readonly Rule[], gate: AnyOptions<never>, options: ReservingOptions<R>): void {
  if (gate.charge !== undefined) {
    const message = `${door} takes charge or reserve: let used of reserving() return 0 for a response that is free`
    throw new SluiceError('ERR_OPTION', message, { option: 'charge', value: gate.charge })
  }
  timesOf(rules, options)
  const { hold } = options
  if (typeof hold === 'function') return
  const cost = typeof gate.cost === 'function' ? undefined : gate.cost
  if (typeof hold === 'object') costsByRule(rules, hold, 0)
  const held = rules.filter((rule) => isHeld(rule, hold, cost))
  if (held.every(({ name }) => costOf(name, hold) === 0)) {
    const message = `${door} has reserve, and holds nothing: set hold, or add a concurrency rule`
    throw new SluiceError('ERR_OPTION', message, { option: 'reserve', value: hold })
  }
  for (const { name, limit } of held) {
    const units = costOf(name, hold)
    if (units <= limit || options.atLeast !== undefined) continue
    const message = `${door} denies every request: it holds ${units} units, above ${limit}, the limit of ${show(name)}`
    throw new SluiceError('ERR_COST', message, { option: name, value: units })
  }
}
