// Finds values by pattern: an exact text or a prefix. There is no scan: one lookup for the exact text, and one for each length of
// prefix in use, however many patterns there are.

/** Number of patterns with a prefix of this length. */
interface Length {
  readonly length: number
  count: number
}

/** Values by pattern. A pattern is a text, or a prefix followed by `*`, which matches any number of characters. */
export class PatternIndex<T> {
  readonly #exact = new Map<string, T>()
  readonly #beginnings = new Map<string, T>()
  /** Sorted by length, longest first. */
  readonly #lengths: Length[] = []

  get isEmpty(): boolean {
    return this.#exact.size === 0 && this.#beginnings.size === 0
  }

  get(pattern: string): T | undefined {
    return isPrefix(pattern) ? this.#beginnings.get(beginningOf(pattern)) : this.#exact.get(pattern)
  }

  set(pattern: string, value: T): void {
    if (!isPrefix(pattern)) {
      this.#exact.set(pattern, value)
      return
    }
    const beginning = beginningOf(pattern)
    if (!this.#beginnings.has(beginning)) this.#countLength(beginning.length)
    this.#beginnings.set(beginning, value)
  }

  delete(pattern: string): void {
    if (!isPrefix(pattern)) this.#exact.delete(pattern)
    else if (this.#beginnings.delete(beginningOf(pattern))) this.#discountLength(pattern.length - 1)
  }

  /** Returns the value of the pattern that equals the text. */
  exact(text: string): T | undefined {
    // Usually there are no exact patterns. Then the text need not be hashed.
    return this.#exact.size === 0 ? undefined : this.#exact.get(text)
  }

  /** Returns the value of a pattern. Makes and sets it if there is none. */
  getOrMake(pattern: string, make: () => T): T {
    const known = this.get(pattern)
    if (known !== undefined) return known
    const made = make()
    this.set(pattern, made)
    return made
  }

  /** Calls `visit` for the values of all patterns that match `text`: exact first, then the longest. */
  each(text: string, visit: (value: T) => void): void {
    const exact = this.exact(text)
    if (exact !== undefined) visit(exact)
    this.firstOf(text, visit as (value: T) => undefined)
  }

  /**
   * Calls `ask` for the values whose pattern is a prefix of `text`, longest first. Returns its first result that is not undefined.
   * `ask` also gets `given`, so that a search needs no function of its own.
   */
  firstOf<A, G = undefined>(text: string, ask: (value: T, given: G) => A | undefined, given?: G): A | undefined {
    for (const { length } of this.#lengths) {
      if (length > text.length) continue
      const value = this.#beginnings.get(text.slice(0, length))
      if (value === undefined) continue
      const answer = ask(value, given as G)
      if (answer !== undefined) return answer
    }
    return undefined
  }

  #countLength(length: number): void {
    const at = this.#lengths.findIndex((other) => other.length <= length)
    if (at >= 0 && this.#lengths[at].length === length) this.#lengths[at].count += 1
    else this.#lengths.splice(at < 0 ? this.#lengths.length : at, 0, { length, count: 1 })
  }

  #discountLength(length: number): void {
    const at = this.#lengths.findIndex((other) => other.length === length)
    this.#lengths[at].count -= 1
    if (this.#lengths[at].count === 0) this.#lengths.splice(at, 1)
  }
}

function isPrefix(pattern: string): boolean {
  return pattern.endsWith('*')
}

function beginningOf(pattern: string): string {
  return pattern.slice(0, -1)
}
