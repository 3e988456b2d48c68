// Checks option names. The error about an unknown name suggests the nearest known one.

import { SluiceError, show } from './errors.ts'

/** Throws ERR_OPTION if `options` is not an object, or has a name that is not in `known`. */
export function checkOptions(caller: string, options: unknown, known: readonly string[]): void {
  if (options === null || typeof options !== 'object' || Array.isArray(options)) {
    throw new SluiceError('ERR_OPTION', `${caller} takes an object of options, got ${show(options)}`)
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    const near = nearest(name, known)
    const hint = near === undefined ? `it knows ${known.join(', ')}` : `did you mean ${near}?`
    throw new SluiceError('ERR_OPTION', `${caller} has no option ${show(name)}: ${hint}`, { option: name })
  }
}

/** Returns the known name that is nearest to `name`, if at most a third of its characters differ. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase().slice(0, 40), candidate.toLowerCase())
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
