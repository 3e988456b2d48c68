// Marks lines as kept, removed or added. Uses the longest common subsequence, so that as few lines as possible are marked.

export interface DiffLine {
  readonly kind: 'kept' | 'removed' | 'added'
  readonly text: string
}

export function lineDiff(before: readonly string[], after: readonly string[]): DiffLine[] {
  /** lengths[i][j] is the length of the longest common subsequence of `before` from line i and `after` from line j. */
  const lengths = Array.from({ length: before.length + 1 }, () => new Array<number>(after.length + 1).fill(0))
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      lengths[i][j] = before[i] === after[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1])
    }
  }
  const lines: DiffLine[] = []
  let i = 0
  let j = 0
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ kind: 'kept', text: before[i] })
      i += 1
      j += 1
    } else if (i < before.length && (j === after.length || lengths[i + 1][j] >= lengths[i][j + 1])) {
      lines.push({ kind: 'removed', text: before[i] })
      i += 1
    } else {
      lines.push({ kind: 'added', text: after[j] })
      j += 1
    }
  }
  return lines
}
