// The longest run of taken rows in a table. A look-up of a key reads at most so many rows.

import type { Rows } from '../src/stores/memory/rows.ts'

export function longestRun(rows: Rows): number {
  let longest = 0
  for (let row = 0; row < rows.length; row++) {
    const end = rows.endOfRun(row)
    longest = Math.max(longest, end - row)
    row = end
  }
  return longest
}
