// A request to decide and spend.

import type { RequestFacts } from '../policies/request-facts.ts'

export interface CheckRequest extends RequestFacts {
  readonly cost: number
}
