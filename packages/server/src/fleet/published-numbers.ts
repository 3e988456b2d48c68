// Numbers in a text that another instance has published. A text of another version, or a damaged one, may have anything.

/** The last time that a Date can have. */
const LAST_MS = 8.64e15

export function isCount(count: unknown): count is number {
  return Number.isSafeInteger(count) && (count as number) >= 0
}

/** True for a time that a Date can have. */
export function isTime(time: unknown): time is number {
  return isCount(time) && time <= LAST_MS
}
