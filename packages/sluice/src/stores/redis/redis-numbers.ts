// What the program answers: whole numbers, one after another, and in place of those of a call that failed, what went wrong.

export class Numbers {
  readonly #list: readonly unknown[]
  #at = 0

  /** Takes the program's reply: JSON, in whatever the client hands out for a text. */
  constructor(reply: unknown) {
    const list: unknown = JSON.parse(String(reply))
    if (!Array.isArray(list)) throw new Error(`the program answered ${reply}, not a list`)
    this.#list = list
  }

  /** What went wrong, if that comes next. */
  problem(): Error | undefined {
    const next = this.#list[this.#at]
    if (typeof next === 'number') return undefined
    this.#at += 1
    return new Error(String(next))
  }

  next(): number {
    return this.#list[this.#at++] as number
  }
}
