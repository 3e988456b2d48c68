// Formats values for messages, and finds the word that was probably meant.

/** Formats a value for a message: short and quoted. Never throws. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
  if (value === null || typeof value !== 'object') return String(value)
  return Array.isArray(value) ? 'a list' : 'an object'
}

/** Returns a hint for an unknown word: the nearest known word, or all of them. */
export function suggest(word: string, known: readonly string[]): string {
  const near = nearest(word, known)
  return near === undefined ? `known names are ${known.join(', ')}` : `did you mean ${near}?`
}

/** Returns the nearest known word if it differs in at most a third of its length. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  // A much longer word is no misspelling, and the time grows with the length.
  const given = plain(word).slice(0, 64)
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    const distance = editDistance(given, plain(candidate))
    if (distance >= bestDistance || distance > Math.max(1, candidate.length / 3)) continue
    best = candidate
    bestDistance = distance
  }
  return best
}

/** Normalises `dataFolder`, `data-folder` and `DATA_FOLDER` to one form. */
function plain(word: string): string {
  return word.toLowerCase().replace(/[-_]/g, '')
}

/** Number of letters to add, remove, change, or swap with the next one. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 0; i < from.length; i++) {
    const row = [i + 1]
    for (let j = 0; j < to.length; j++) {
      const isSwap = i > 0 && j > 0 && from[i] === to[j - 1] && from[i - 1] === to[j]
      const swapped = isSwap ? beforeLast[j - 1] + 1 : Number.POSITIVE_INFINITY
      row.push(Math.min(last[j + 1] + 1, row[j] + 1, last[j] + (from[i] === to[j] ? 0 : 1), swapped))
    }
    beforeLast = last
    last = row
  }
  return last[to.length]
}
