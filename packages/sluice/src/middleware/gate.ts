// The one gate behind every door: from a request to whether it passes, and to what its response says about that. The order of
// steps is here: skip, lists of addresses, whom it counts for, lists of keys, the hits, the answer; and later, the charge.
// What must stay true: a request is charged once, and where all answers are there at once no promise is made.

import { type ClientAddress, clientAddress, type ReadClientAddress } from '../http/client-address.ts'
import type { Denial } from '../http/responder.ts'
import { warnProcess } from '../http/warning.ts'
import { ClientList } from './client-list.ts'
import type { Frame } from './frame.ts'
import { checkGateOptions, type GateOptions, type RouteOptions } from './gate-options.ts'
import { checkNames, Limit } from './limit.ts'
import { type RequestHit, speakerOf } from './request-hit.ts'
import { ResponseFields } from './response-fields.ts'
import { allKnown, isPromise, type Soon, whenKnown } from './soon.ts'
import { type DecidedVisit, type DeniedVisit, GateVisit } from './visit.ts'

/** Statuses from here on are those of failures. */
const FIRST_FAILURE = 400

const FORBIDDEN: Denial = {
  status: 403,
  headers: { 'Content-Type': 'application/problem+json' },
  body: JSON.stringify({ type: 'about:blank', title: 'Forbidden', status: 403 }),
}

const NO_REST: readonly unknown[] = []

/** A route that says one of these has counts of its own. */
const OWN_COUNTS = ['limiter', 'rules', 'limits', 'store', 'failure'] as const

// Steps of every request, made once and not for each.
const hitOf = <R extends object>(limit: Limit<R>, visit: GateVisit<R>): Soon<RequestHit> => limit.hitOf(visit)

const make = <R extends object, S>(hit: RequestHit, gate: Gate<R, S>): Soon<void> => gate.make(hit)

export class Gate<R extends object, S> {
  readonly #of: string
  readonly #options: GateOptions<R>
  readonly #frame: Frame<R, S>
  readonly #limits: readonly Limit<R>[]
  readonly #allow: ClientList | undefined
  readonly #block: ClientList | undefined
  readonly #readAddress: ReadClientAddress
  readonly #fields: ResponseFields
  /** Whether the response decides about the charge; and whether a hit may be given back, for that or for another that was denied. */
  readonly #isChargedLater: boolean
  readonly #mayRefund: boolean
  readonly #routes = new WeakMap<object, Gate<R, S>>()
  #mayWarn = true

  /** `of` is the door's name, for messages. If there is a gate to share with, its counts are this one's too. */
  constructor(of: string, options: GateOptions<R>, frame: Frame<R, S>, shared?: Gate<R, S>) {
    const limits = checkGateOptions(of, options)
    const { store, failure, charge = 'request', headers, allow, block, address = {}, warn = warnProcess } = options
    const { peer: _peer, ...addressOptions } = address
    this.#of = of
    this.#options = options
    this.#frame = frame
    this.#limits = limits.map(
      (limit, i) => new Limit(limit, { store, failure }, shared === undefined ? undefined : shared.#limits[i]),
    )
    this.#isChargedLater = charge !== 'request'
    this.#mayRefund = this.#isChargedLater || limits.length > 1
    this.#allow = allow && new ClientList(of, 'allow', allow)
    this.#block = block && new ClientList(of, 'block', block)
    this.#readAddress = clientAddress({ ...addressOptions, warn })
    this.#fields = new ResponseFields(headers)
    checkNames(of, this.#limits)
  }

  /** The gate of a route that says some things differently. It shares this one's counts unless it says what to count by. */
  forRoute(route: Exclude<RouteOptions<R>, false>): Gate<R, S> {
    const known = this.#routes.get(route)
    if (known !== undefined) return known
    const { limiter, rules, limits, ...rest } = this.#options
    const hasOwnCounts = OWN_COUNTS.some((name) => route[name] !== undefined)
    const base = (route.limiter ?? route.rules ?? route.limits) ? rest : this.#options
    const gate = new Gate(this.#of, { ...base, ...route }, this.#frame, hasOwnCounts ? undefined : this)
    this.#routes.set(route, gate)
    return gate
  }

  /** Whether a request passes: it does unless the visit that comes back has a denial. */
  enter(request: R, rest = NO_REST): Soon<GateVisit<R>> {
    const visit = new GateVisit<R>(this, request, rest, this.#frame.holder(request))
    if (this.#wasHere(visit)) return visit
    const { skip } = this.#options
    if (skip === undefined) return this.#screen(visit)
    return whenKnown(skip(request, visit), (isSkipped) => (isSkipped ? visit : this.#screen(visit)))
  }

  addressOf({ request, rest }: GateVisit<R>): ClientAddress {
    const peerOf = this.#options.address?.peer
    const peer = peerOf === undefined ? this.#frame.peer(request, rest) : peerOf(request, ...rest)
    return this.#readAddress(peer, this.#frame.headers(request, rest))
  }

  /** Whether a visit has fields to write. */
  hasFields({ denial, hits }: GateVisit<R>): boolean {
    return denial !== undefined || (hits.length > 0 && !this.#fields.isEmpty && this.#options.mode !== 'shadow')
  }

  /** Writes what a visit has to say into a response: all of the denial's fields, or the rate limit fields. */
  writeFields(visit: GateVisit<R>, response: S): void {
    if (this.hasFields(visit)) this.#fields.write(visit, response, this.#frame)
  }

  /** Whether the response decides if a request is charged. If so, `settle` has to hear of it. */
  mustSettle(visit: GateVisit<R>): boolean {
    return this.#isChargedLater && visit.hits.length > 0
  }

  /** Gives back what a request took if its response, of this status, is not to be charged. */
  settle(visit: GateVisit<R>, status: number): void {
    const { charge } = this.#options
    const isCharged =
      typeof charge === 'function' ? charge(status, visit.request) : (charge === 'failed-response') === status >= FIRST_FAILURE
    if (!isCharged) for (const hit of visit.hits) hit.refund()
  }

  #screen(visit: GateVisit<R>): Soon<GateVisit<R>> {
    if (this.#block?.hasAddress(visit)) return this.#deny(visit, () => FORBIDDEN)
    if (this.#allow?.hasAddress(visit)) return visit
    const hits = allKnown(this.#limits, hitOf, visit)
    return isPromise(hits) ? hits.then((hits) => this.#admit(visit, hits)) : this.#admit(visit, hits)
  }

  #admit(visit: GateVisit<R>, hits: readonly RequestHit[]): Soon<GateVisit<R>> {
    const blocked = this.#block && hits.find(({ key }) => this.#block?.hasKey(key))
    if (blocked !== undefined) {
      visit.speaker = blocked
      return this.#deny(visit, () => FORBIDDEN)
    }
    if (this.#allow && hits.some(({ key }) => this.#allow?.hasKey(key))) return visit
    const fresh = visit.before === undefined ? hits : hits.filter((hit) => !this.#wasMade(visit, hit))
    if (fresh.length === 0) return visit
    const made = allKnown(fresh, make, this)
    return isPromise(made) ? made.then(() => this.#conclude(visit, fresh)) : this.#conclude(visit, fresh)
  }

  /** In shadow mode a store that fails is no reason to stop anybody. */
  make(hit: RequestHit): Soon<void> {
    if (this.#options.mode !== 'shadow') return hit.make(this.#mayRefund)
    try {
      const made = hit.make(this.#mayRefund)
      return isPromise(made) ? made.then(undefined, () => {}) : made
    } catch {}
  }

  #conclude(visit: GateVisit<R>, hits: readonly RequestHit[]): Soon<GateVisit<R>> {
    const speaker = speakerOf(hits)
    const decision = speaker?.decision
    if (speaker === undefined || decision === undefined) return visit
    visit.speaker = speaker
    visit.leaveMark()
    this.#options.onDecision?.(visit as DecidedVisit<R>)
    if (decision.allowed) {
      visit.hits = hits
      return visit
    }
    for (const hit of hits) if (hit.decision?.allowed) hit.refund()
    return this.#deny(visit, () => this.#fields.denialOf(speaker))
  }

  #deny(visit: GateVisit<R>, denialOf: () => Denial): Soon<GateVisit<R>> {
    const { mode, onDenied, onShadowDenied } = this.#options
    if (mode === 'shadow') {
      onShadowDenied?.(visit)
      return visit
    }
    const denial = denialOf()
    visit.denial = denial
    if (onDenied === undefined) return visit
    return whenKnown(onDenied(visit as DeniedVisit<R>), (change) => {
      if (change) visit.denial = { ...denial, ...change, headers: { ...denial.headers, ...change.headers } }
      return visit
    })
  }

  #wasHere(visit: GateVisit<R>): boolean {
    for (let { before } = visit; before !== undefined; { before } = before) {
      if (before.gate === this) return this.#warnMountedTwice()
    }
    return false
  }

  /** Whether a gate before this one has made the same hit: on the same counts, with the same key. */
  #wasMade(visit: GateVisit<R>, hit: RequestHit): boolean {
    for (let { before } = visit; before !== undefined; { before } = before) {
      if (before.hits.some(({ key, plan }) => key === hit.key && plan.sharesCountsWith(hit.plan))) return this.#warnMountedTwice()
    }
    return false
  }

  #warnMountedTwice(): true {
    if (this.#mayWarn) {
      const message =
        `a request came to the same ${this.#of} twice, and was counted once. It may be mounted on an application and on a ` +
        'router inside of it: mount it once. To count on two limiters, give their rules names of their own.'
      const { warn = warnProcess } = this.#options
      warn({ code: 'WARN_MOUNTED_TWICE', message })
    }
    this.#mayWarn = false
    return true
  }
}
