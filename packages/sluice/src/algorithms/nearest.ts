// Finds the word that somebody probably meant.

/** Returns the known word that is nearest to `word`, if at most a third of its characters differ. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase().slice(0, 40), candidate.toLowerCase())
    if (distance < bestDistance && distance <= Math.max(2, candidate.length / 3)) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(swap, row[j] + 1, next[j - 1] + 1))
    }
    row = next
  }
  return row[b.length]
}
