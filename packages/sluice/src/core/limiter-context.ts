// A limiter, as the parts that its options bring see it: waiting lines and holds.

import type { Call, Figures } from './call.ts'
import type { Decision } from './decision.ts'
import type { DecisionFailure } from './guard.ts'
import type { Limiter } from './limiter.ts'
import type { Result, Store, Timing } from './store.ts'
import type { Subjects } from './subject.ts'
import type { Waiting } from './waiting.ts'

export interface LimiterContext<T extends Timing = Timing> {
  readonly limiter: Pick<Limiter<T>, 'rules' | 'clock'>
  readonly store: Store<T>
  readonly subjects: Subjects
  /** The waiting lines, if the limiter has them. They are told about a call that may free units. They are opened before the holds. */
  waiting: Waiting | undefined
  isClosed(): boolean
  ask<V>(call: Call, read: (figures: Figures, failure?: DecisionFailure) => V): Result<T, V>
  /** Makes the decision from the first figures of an answer. */
  decide(call: Call, figures: Figures, failure: DecisionFailure | undefined): Decision
}
