// Columns of a chart from counts by time.

/** Joins neighbours, so that at most `most` columns are left. */
export function joined(counts: readonly number[], most: number): readonly number[] {
  const size = Math.max(1, Math.ceil(counts.length / most))
  return Array.from({ length: Math.ceil(counts.length / size) }, (_, i) =>
    counts.slice(i * size, (i + 1) * size).reduce((sum, count) => sum + count, 0),
  )
}
