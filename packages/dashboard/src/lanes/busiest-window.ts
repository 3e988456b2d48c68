// The largest number of hits that passed in any window of a given length. Exact: a busiest window can always be moved
// to start at a hit that passed, so only those starts are tried.

export interface BusiestWindow {
  readonly count: number
  /** Time of the first hit in the window. 0 if none passed. */
  readonly fromMs: number
}

/** `times` must ascend. A window includes its start and excludes `start + spanMs`. Returns the first of equal windows. */
export function busiestWindow(times: readonly number[], spanMs: number): BusiestWindow {
  let busiest: BusiestWindow = { count: 0, fromMs: 0 }
  let end = 0
  for (let start = 0; start < times.length; start++) {
    while (end < times.length && times[end] < times[start] + spanMs) end += 1
    if (end - start > busiest.count) busiest = { count: end - start, fromMs: times[start] }
  }
  return busiest
}
