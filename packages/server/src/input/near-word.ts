// The word that somebody probably meant.

/** A value as a person would want to read it in a message: short, quoted, never throwing. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
  if (value === null || typeof value !== 'object') return String(value)
  return Array.isArray(value) ? 'a list' : 'an object'
}

/** What to say of a word that is not known: the nearest known one, or all of them. */
export function suggest(word: string, known: readonly string[]): string {
  const near = nearest(word, known)
  return near === undefined ? `there is ${known.join(', ')}` : `did you mean ${near}?`
}

/** The known word that is at most a third of its length away from `word`, if there is one. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  // Nobody misspells a word into one many times as long, and the time that this takes grows with it.
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

/** `dataFolder`, `data-folder` and `DATA_FOLDER` are one word. */
function plain(word: string): string {
  return word.toLowerCase().replace(/[-_]/g, '')
}

/** How many letters have to be added, dropped, changed, or swapped with the next. */
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
