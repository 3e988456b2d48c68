// The most that passed in any window, wherever it starts. Exact: some window with the most begins with a hit that passed,
// so it is enough to look at those.

export interface BusiestWindow {
  readonly count: number
  /** When the first hit of it passed; 0 if none did. */
  readonly fromMs: number
}

/** `times` rise; a window is from its start up to, but not including, `spanMs` later. Of several with the most, the first. */
export function busiestWindow(times: readonly number[], spanMs: number): BusiestWindow {
  let busiest: BusiestWindow = { count: 0, fromMs: 0 }
  let end = 0
  for (let start = 0; start < times.length; start++) {
    while (end < times.length && times[end] < times[start] + spanMs) end += 1
    if (end - start > busiest.count) busiest = { count: end - start, fromMs: times[start] }
  }
  return busiest
}
