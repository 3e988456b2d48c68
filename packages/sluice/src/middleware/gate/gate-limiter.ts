// A limiter of a gate, with the responder for its decisions and the names of its subject.

import { SluiceError } from '../../core/errors.ts'
import type { Limiter } from '../../core/limiter.ts'
import { type Rule, stateName } from '../../core/rule.ts'
import type { Timing } from '../../core/store.ts'
import type { Subject } from '../../core/subject.ts'
import { type AnyStyle, RuleResponder } from '../../http/responder.ts'

/** The only name in `per` that has a default: the client's address. */
export const ADDRESS = 'address'

export interface GateLimiterOptions {
  readonly limiter: Limiter<Timing, Subject>
  /** Identifies the owner of the states: a store that other limiters may share, or the limiter itself. */
  readonly keptIn: object
  readonly styles: readonly AnyStyle[]
}

export class GateLimiter {
  readonly limiter: Limiter<Timing, Subject>
  readonly responder: RuleResponder
  /** Names that the rules count by; undefined if the subject is a string. */
  readonly names: readonly string[] | undefined
  readonly #keptIn: object

  constructor({ limiter, keptIn, styles }: GateLimiterOptions) {
    const { rules, clock } = limiter
    this.limiter = limiter
    this.responder = new RuleResponder(rules, styles, clock)
    this.names = rules[0].per && [...new Set(rules.flatMap(({ per }) => per ?? []))]
    this.#keptIn = keptIn
  }

  /** Throws ERR_OPTION if the rules count by a key that has no default. */
  checkDefault(door: string): void {
    const { names = [] } = this
    if (names.every((name) => name === ADDRESS)) return
    const message = `${door} needs key to return { ${names.join(', ')} }, the names that its rules count by`
    throw new SluiceError('ERR_OPTION', message, { option: 'key' })
  }

  /** True if a charge on `rule` for `subject` uses the same state as a charge of `other` for `otherSubject`. */
  shares(rule: Rule, subject: Subject, other: GateLimiter, otherSubject: Subject): boolean {
    if (this.#keptIn !== other.#keptIn || !other.limiter.rules.some((each) => stateName(each) === stateName(rule))) return false
    if (rule.per === undefined) return subject === otherSubject
    return rule.per.every((name) => (subject as Keys)[name] === (otherSubject as Keys)[name])
  }
}

type Keys = Readonly<Record<string, string>>
