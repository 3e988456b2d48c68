// The state of the programs on one server, as known from the commands sent there: not loaded, being loaded, or loaded.
// Invariant: no command is sent while an earlier one may have to be sent again with the program. Else it would be decided first.
// Redis loses all programs at once. So after one is found missing, the first command of each program contains it again: else a command
// of a program that is still missing would be decided after later commands of one that has been loaded again.

/** The longest wait for a command that loads a program. Its answer may be lost. */
const LONGEST_RELOAD_MS = 1000

export class LoadedPrograms {
  /** SHA-1 of each program that was sent, and that Redis has not lost. There are few programs. */
  readonly #sent = new Set<string>()
  #underWay = 0
  #reloadEndsMs = 0

  /** True while a command may be sent. */
  get isOpen(): boolean {
    return this.#underWay === 0 || performance.now() >= this.#reloadEndsMs
  }

  /** Notes that a command is being sent. Returns true if it must carry the program. Commands after it find the program loaded. */
  enter(sha1: string): boolean {
    const isFirst = !this.#sent.has(sha1)
    if (isFirst) this.#sent.add(sha1)
    this.#underWay += 1
    return isFirst
  }

  /**
   * Notes that a command found no program, and is sent again with it. Commands sent after it may find none either, and are sent again
   * too.
   */
  missing(sha1: string): void {
    // The first command that finds none: those after it were sent before the loss was known.
    if (this.isOpen) this.#sent.clear()
    this.#sent.add(sha1)
    this.#reloadEndsMs = performance.now() + LONGEST_RELOAD_MS
  }

  /** Notes that a command was answered or has failed. */
  leave(): void {
    this.#underWay -= 1
    if (this.#underWay === 0) this.#reloadEndsMs = 0
  }
}
