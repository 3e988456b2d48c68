// A gate decides if a request passes, and writes the fields of its response. Every door has one. The steps of a request:
// 1. `enter` asks `skip`.
// 2. `#screen` looks up the client's address in the lists. `#findKey` and `#findCost` find what to count.
// 3. `#count` looks up the key in the lists, and hits the limiter, or reserves.
// 4. `#conclude` reports the decision, and `#deny` makes the response of a denied request.
// 5. `writeFields` writes fields to the response, and `refundIfFree` gives units back if the response is not charged. Units that are
//    held are settled by `held` of the context.
// Invariant: a request is charged at most once on each state. No promise is made if all values are known at once.

import { checkCost } from '../../core/cost.ts'
import type { Decision } from '../../core/decision.ts'
import { SluiceError } from '../../core/errors.ts'
import type { Cost, Subject } from '../../core/subject.ts'
import { peerReader, USUAL_HEADERS, USUAL_IPV6_PREFIX } from '../../http/peer-address.ts'
import type { ImportedStyle } from '../../http/rate-limit-fields.ts'
import { checkStyles, DEFAULT_STYLE, type Denial } from '../../http/responder.ts'
import { warnProcess } from '../../http/warning.ts'
import type { Adapter } from './adapter.ts'
import { changedDenial } from './changed-denial.ts'
import { checkStaticCost, costOf, costsOf } from './costs.ts'
import { ADDRESS, type GateLimiter } from './gate-limiter.ts'
import { type LimiterSource, limiterSource } from './limiter-source.ts'
import { andThen, type MaybePromise, tryThen } from './maybe-promise.ts'
import { type AnyOptions, checkGateOptions } from './options.ts'
import { freshPolicies, freshRules, isTightest } from './other-limiters.ts'
import { type AddressOf, type DecidedContext, type DeniedContext, GateContext } from './request-context.ts'
import type { Asked } from './reserve.ts'

const POLICY_FIELD = 'RateLimit-Policy'

/** Codes of errors that the application causes, not the store. */
const INPUT_ERRORS: readonly unknown[] = ['ERR_KEY', 'ERR_COST', 'ERR_RULE_NAME']

const NO_REST: readonly unknown[] = []

export class Gate<R extends object, S> {
  /** Name of the door, for messages. */
  readonly #door: string
  readonly #id = Symbol()
  readonly #options: AnyOptions<R>
  readonly #adapter: Adapter<R, S>
  readonly #limiters: LimiterSource
  readonly #addressOf: AddressOf<R>
  /** Names of fields that are lists. */
  readonly #lists: readonly string[]
  #mayWarn = true

  constructor(door: string, options: AnyOptions<R>, adapter: Adapter<R, S>) {
    checkGateOptions(door, options)
    const { headers = DEFAULT_STYLE, cost = 1, reserve } = options
    const styles = checkStyles(headers)
    this.#door = door
    this.#options = options
    this.#adapter = adapter
    // In draft 7, `RateLimit` is no list.
    this.#lists = styles.some((style) => (style as ImportedStyle).draft === 'draft-7')
      ? [POLICY_FIELD]
      : [POLICY_FIELD, 'RateLimit']
    this.#limiters = limiterSource(door, options, styles)
    if (typeof this.#limiters !== 'function' && typeof cost !== 'function' && !reserve) {
      checkStaticCost(door, this.#limiters.limiter.rules, cost)
    }
    this.#addressOf = addressReader(door, options, adapter)
  }

  /** Decides about a request. It passes if the returned context has no denial. */
  enter(request: R, rest = NO_REST): MaybePromise<GateContext<R>> {
    const context = new GateContext<R>(this.#id, request, rest, this.#adapter.holder(request), this.#addressOf)
    for (let { before } = context; before !== undefined; { before } = before) {
      if (before.gate === this.#id) return this.#countedBefore(context)
    }
    const { skip } = this.#options
    if (skip === undefined) return this.#screen(context)
    return andThen(skip(request, context), (isSkipped) => (isSkipped ? context : this.#screen(context)))
  }

  /** True if there are fields to write. */
  hasFields({ denial, charged }: GateContext<R>): boolean {
    const { headers, mode } = this.#options
    return denial !== undefined || (charged !== undefined && headers !== false && mode !== 'shadow')
  }

  /**
   * Writes the denial's fields, or the rate limit fields. Several gates may write to one response: a field that is a list gets the
   * members of each, and names a policy once. Any other field describes the tightest limiter.
   */
  writeFields(context: GateContext<R>, response: S): void {
    if (!this.hasFields(context)) return
    const adapter = this.#adapter
    const { denial, limiter, decision } = context
    const fields = denial?.headers ?? (limiter as GateLimiter).responder.headers(decision as Decision)
    const isFirst = adapter.writesFirst && context.before === undefined && context.latest === context
    for (const name in fields) {
      if (!isFirst && this.#lists.includes(name)) {
        const members = name === POLICY_FIELD ? freshPolicies(context, fields[name]) : fields[name]
        if (members !== '') adapter.addField(response, name, members)
      } else if (isFirst || isTightest(context)) adapter.setField(response, name, fields[name])
    }
    context.policies = fields[POLICY_FIELD]
  }

  /** True if the response decides about the charge. Then `refundIfFree` must be called with its status. */
  mayRefund({ charged }: GateContext<R>): boolean {
    return this.#options.charge !== undefined && charged !== undefined
  }

  /** Refunds a request if its response, with this status, is not charged. */
  refundIfFree({ charged }: GateContext<R>, status: number): void {
    const { charge, warn = warnProcess } = this.#options
    if (charged !== undefined) charge?.settle(charged, status, { door: this.#door, warn })
  }

  /** Looks up the client's address in the lists. If it is in none, finds the limiter, and then the key and the cost. */
  #screen(context: GateContext<R>): MaybePromise<GateContext<R>> {
    const { allow, block } = this.#options
    // Some runtimes do not know the client's address, so it is not read for a list of keys.
    if (block?.listsAddresses !== false && block?.blocks(context.address)) return this.#deny(context, () => block.denial)
    if (allow?.listsAddresses !== false && allow?.hasAddress(context.address)) return context
    // Closures are made only for values that a callback computes: most requests need none.
    const limiters = this.#limiters
    if (typeof limiters !== 'function') return this.#findKey(context, limiters)
    return andThen(limiters(context), (limiter) => this.#findKey(context, limiter))
  }

  #findKey(context: GateContext<R>, limiter: GateLimiter): MaybePromise<GateContext<R>> {
    const { key } = this.#options
    if (key === undefined) return this.#findCost(context, limiter, defaultSubject(limiter, context))
    return andThen(key(context.request, context), (subject) => this.#findCost(context, limiter, subject))
  }

  #findCost(context: GateContext<R>, limiter: GateLimiter, subject: Subject): MaybePromise<GateContext<R>> {
    const { cost } = this.#options
    context.limiter = limiter
    context.key = subject
    if (typeof cost !== 'function') return this.#count(context, limiter, subject, cost)
    return andThen(cost(context.request, context), (cost) => {
      if (typeof cost !== 'object' || cost === null) checkCost(cost, 1)
      return this.#count(context, limiter, subject, cost)
    })
  }

  /** Looks up the key in the lists. If it is in none, hits the limiter, on the rules that no earlier gate has charged. */
  #count(context: GateContext<R>, prepared: GateLimiter, subject: Subject, cost: Cost | undefined): MaybePromise<GateContext<R>> {
    const { allow, block, mode, reserve, charge } = this.#options
    if (block?.hasKey(subject)) return this.#deny(context, () => block.denial)
    if (allow?.hasKey(subject)) return context
    const { limiter } = prepared
    context.cost = cost === 1 ? undefined : cost
    if (context.before !== undefined) {
      const fresh = freshRules(context, prepared, subject)
      if (fresh.length < limiter.rules.length) {
        this.#countedBefore(context)
        if (fresh.every(({ name }) => costOf(name, cost) === 0)) return context
        context.cost = costsOf(limiter.rules, cost, (name) => fresh.some((rule) => rule.name === name))
      }
    }
    // The clock is read before the hit. If the store is slow, the charge seems older than it is, and may not be refunded.
    if (charge !== undefined) context.hitAtMs = limiter.clock.now()
    const options = context.cost === undefined ? undefined : { cost: context.cost }
    const conclude = (decision: Decision) => this.#conclude(context, decision)
    // A limiter ignores the context.
    const asked: Asked = reserve ?? limiter
    if (mode !== 'shadow') return andThen(asked.hit(subject, options, context), conclude)
    return tryThen(
      () => asked.hit(subject, options, context),
      conclude,
      (error) => {
        // In shadow mode, a failure of the store does not stop the request.
        if (INPUT_ERRORS.includes((error as { code?: unknown })?.code)) throw error
        return context
      },
    )
  }

  /** Reports the decision, and denies the request if it says so. */
  #conclude(context: GateContext<R>, decision: Decision): MaybePromise<GateContext<R>> {
    context.decision = decision
    context.leaveMark()
    try {
      this.#options.onDecision?.(context as DecidedContext<R>)
    } catch (error) {
      context.held?.cancel()
      throw error
    }
    if (decision.allowed) return context
    return this.#deny(context, () => (context.limiter as GateLimiter).responder.denial(decision))
  }

  /** Denies the request, with the response that `onDenied` may change. In shadow mode, only reports the denial. */
  #deny(context: GateContext<R>, denialOf: () => Denial): MaybePromise<GateContext<R>> {
    const { mode, onDenied, onShadowDenied } = this.#options
    if (mode === 'shadow') {
      onShadowDenied?.(context)
      return context
    }
    const denial = denialOf()
    context.denial = denial
    if (onDenied === undefined) return context
    return andThen(onDenied(context as DeniedContext<R>), (change) => {
      if (typeof change === 'object' && change !== null) context.denial = changedDenial(this.#door, denial, change)
      return context
    })
  }

  /** Warns once that a request was counted before. */
  #countedBefore(context: GateContext<R>): GateContext<R> {
    const { warn = warnProcess } = this.#options
    if (this.#mayWarn) {
      const message =
        `${this.#door} got a request twice and counted it once: mount it once, or give the rules of two limiters ` +
        'different names'
      warn({ code: 'WARN_MOUNTED_TWICE', message })
    }
    this.#mayWarn = false
    return context
  }
}

/** Makes the reader of addresses. It throws if the runtime tells no address, because otherwise all clients would count as one. */
function addressReader<R extends object>(door: string, options: AnyOptions<R>, adapter: Adapter<R, never>): AddressOf<R> {
  const { address, peer, warn = warnProcess } = options
  const readPeer = peerReader({ ipv6Prefix: USUAL_IPV6_PREFIX, suspicious: USUAL_HEADERS, warn })
  return (request, rest) => {
    const found = peer === undefined ? adapter.peer(request, rest) : peer(request, ...rest)
    if (found === false) {
      const message = `${door} cannot find the address of a request in this runtime: set peer, or a key and lists that need no address`
      throw new SluiceError('ERR_OPTION', message, { option: 'peer' })
    }
    if (address === undefined) return readPeer(found, adapter.headers, request, rest)
    return address(found, adapter.headers(request, rest))
  }
}

/** Returns the subject of a request without the option `key`: the client's address. */
function defaultSubject({ names }: GateLimiter, context: GateContext): Subject {
  if (names === undefined) return context.address.key
  return names.length === 0 ? {} : { [ADDRESS]: context.address.key }
}
