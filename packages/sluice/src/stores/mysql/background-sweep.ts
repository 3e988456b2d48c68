// A timer that sweeps some time after a write. Without writes there is no timer.

export class BackgroundSweep {
  readonly #everyMs: number
  readonly #sweep: () => Promise<unknown>
  #timer: ReturnType<typeof setTimeout> | undefined
  #isStopped = false

  /** With `everyMs` 0 there is no timer. `sweep` may reject: rows that have ended only take space. */
  constructor(everyMs: number, sweep: () => Promise<unknown>) {
    this.#everyMs = everyMs
    this.#sweep = sweep
  }

  /** Called after a write. The timer does not keep the process alive. */
  wrote(): void {
    if (this.#everyMs === 0 || this.#isStopped || this.#timer !== undefined) return
    const restart = (): void => {
      this.#timer = undefined
    }
    this.#timer = setTimeout(() => void this.#sweep().then(restart, restart), this.#everyMs)
    ;(this.#timer as { unref?(): unknown }).unref?.()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }
}
