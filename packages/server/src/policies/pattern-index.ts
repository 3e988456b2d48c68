// Finds what belongs to a text by the patterns it fits: the text itself, or beginnings of it. No scan: one look-up for the
// exact text and one for each length of a beginning that is in use, however many patterns there are.

/** How many patterns have a beginning of this length. */
interface Length {
  readonly length: number
  count: number
}

/** Values by pattern. A pattern is a text, or a beginning followed by `*`, which stands for any number of characters, also none. */
export class PatternIndex<T> {
  readonly #exact = new Map<string, T>()
  readonly #beginnings = new Map<string, T>()
  /** Longest first. */
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

  /** The value of the pattern that is this very text. */
  exact(text: string): T | undefined {
    // Most often there is none to be found, and nothing of the text has to be read for that.
    return this.#exact.size === 0 ? undefined : this.#exact.get(text)
  }

  /** The first answer of `ask` to the values whose pattern is a beginning of `text`, longest first. */
  firstOf<A>(text: string, ask: (value: T) => A | undefined): A | undefined {
    for (const { length } of this.#lengths) {
      if (length > text.length) continue
      const value = this.#beginnings.get(text.slice(0, length))
      if (value === undefined) continue
      const answer = ask(value)
      if (answer !== undefined) return answer
    }
    return undefined
  }

  /** The value of the longest beginning of `text` that is a pattern. */
  longest(text: string): T | undefined {
    return this.firstOf(text, itself)
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

function itself<T>(value: T): T {
  return value
}

function isPrefix(pattern: string): boolean {
  return pattern.endsWith('*')
}

function beginningOf(pattern: string): string {
  return pattern.slice(0, -1)
}
