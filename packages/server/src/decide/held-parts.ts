// The text of a hold that has several parts: the one that the caller holds, and one for each policy in shadow mode that follows it.
// Invariant: `heldParts(joinHeld(parts))` is `parts`. A text of one part is that part.

/** The first character of a text with several parts. That of a part is another one. */
const SEVERAL = '+'

/** Each part stands behind its length. */
export function joinHeld(parts: readonly string[]): string {
  if (parts.length === 1) return parts[0]
  return parts.length === 0 ? '' : SEVERAL + parts.map((part) => `${part.length}:${part}`).join('')
}

/** Returns the parts, the one of the caller first. A text of another form is one part, which no limiter can open. */
export function heldParts(held: string): readonly string[] {
  if (held === '') return []
  if (!held.startsWith(SEVERAL)) return [held]
  const parts: string[] = []
  for (let at = 1; at < held.length; ) {
    const colon = held.indexOf(':', at)
    const length = Number(held.slice(at, colon))
    const start = colon + 1
    if (colon < 0 || !Number.isSafeInteger(length) || length < 1 || start + length > held.length) return [held]
    parts.push(held.slice(start, start + length))
    at = start + length
  }
  return parts.length === 0 ? [held] : parts
}
