// What a gate writes into responses: a limiter's fields, or those of a denial, beside what other limiters have written.
// What must stay true: lists are added to, and of fields with room for one limiter the tightest one's stay.

import type { Decision } from '../core/decision.ts'
import type { Limiter } from '../core/limiter.ts'
import { checkStyles, createResponder, type Denial, type Responder, type ResponderOptions } from '../http/responder.ts'
import type { Frame } from './frame.ts'
import type { RequestHit } from './request-hit.ts'
import type { GateVisit } from './visit.ts'

export class ResponseFields {
  readonly #headers: Exclude<ResponderOptions['headers'], undefined>
  /** Fields that hold a list. */
  readonly #lists: ReadonlySet<string>
  readonly #responders = new WeakMap<Limiter, Responder>()

  constructor(headers: ResponderOptions['headers'] = 'draft-10') {
    this.#headers = headers
    this.#lists = new Set(checkStyles(headers).includes('draft-10') ? ['RateLimit-Policy', 'RateLimit'] : ['RateLimit-Policy'])
  }

  /** Whether there are any for a request that passes. */
  get isEmpty(): boolean {
    return this.#headers === false
  }

  write<R extends object, S>(visit: GateVisit<R>, response: S, frame: Frame<R, S>): void {
    const fields = visit.denial === undefined ? this.#of(visit) : visit.denial.headers
    const isFirst = frame.writesFirst && visit.isOnly
    for (const name in fields) {
      if (isFirst) frame.setField(response, name, fields[name])
      else if (this.#lists.has(name)) frame.addField(response, name, fields[name])
      else if (visit.isTightest) frame.setField(response, name, fields[name])
    }
  }

  denialOf(hit: RequestHit): Denial {
    return this.#responderOf(hit).denial(hit.decision as Decision)
  }

  #of({ hits, speaker }: GateVisit): Record<string, string> {
    const fields = this.#responderOf(hits[0]).headers(hits[0].decision as Decision)
    for (let i = 1; i < hits.length; i++) {
      const more = this.#responderOf(hits[i]).headers(hits[i].decision as Decision)
      for (const name in more) {
        if (this.#lists.has(name)) fields[name] = `${fields[name]}, ${more[name]}`
        else if (hits[i] === speaker) fields[name] = more[name]
      }
    }
    return fields
  }

  #responderOf({ plan: { limiter } }: RequestHit): Responder {
    const known = this.#responders.get(limiter)
    if (known !== undefined) return known
    const { rules, clock } = limiter
    const responder = createResponder({ rules, clock, headers: this.#headers })
    this.#responders.set(limiter, responder)
    return responder
  }
}
