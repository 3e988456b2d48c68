// The program on one server, as far as the commands that were sent there tell: it is loaded, or is being loaded.
// Invariant: no command is sent while an earlier one may have to be sent again with the program, or it would be decided before it.

/** A command whose answer was lost may never end: after so long nobody waits for it any more. */
const LONGEST_RELOAD_MS = 1000

export class LoadedProgram {
  #wasSent = false
  #underWay = 0
  #reloadEndsMs = 0

  /** True while a command may be sent. */
  get isOpen(): boolean {
    return this.#underWay === 0 || performance.now() >= this.#reloadEndsMs
  }

  /** Notes that a command is being sent; → whether it has to carry the program. The ones behind it find it there. */
  enter(): boolean {
    const isFirst = !this.#wasSent
    this.#wasSent = true
    this.#underWay += 1
    return isFirst
  }

  /** A command found no program: the commands that were sent after it may find none either, and are sent again as it is. */
  missing(): void {
    this.#reloadEndsMs = performance.now() + LONGEST_RELOAD_MS
  }

  /** A command has been answered, or has failed. */
  leave(): void {
    this.#underWay -= 1
    if (this.#underWay === 0) this.#reloadEndsMs = 0
  }
}
