// The two rings of statistics: each second of the last hour, and each hour of the last month.

import { CountRing } from './count-ring.ts'

export { COLUMNS, type Column } from './count-ring.ts'

/** Length of a ring of seconds. */
export const RING_SECONDS = 3600

/** Length of a ring of hours: a month of 31 days. */
export const RING_HOURS = 31 * 24

export const HOUR_SECONDS = 3600

export class SecondRing extends CountRing {
  constructor() {
    super(RING_SECONDS)
  }
}

/** A step is an hour since the epoch. An hour of more than 4,294,967,295 checks (a million a second) begins at 0 again. */
export class HourRing extends CountRing {
  constructor() {
    super(RING_HOURS)
  }
}
