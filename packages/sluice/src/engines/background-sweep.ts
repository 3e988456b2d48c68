// A timer for sweeps. While rows are written, there is one sweep in each interval, also if they are too few for the engine to sweep.

export class BackgroundSweep {
  readonly #everyMs: number
  readonly #sweep: () => Promise<unknown>
  #timer: ReturnType<typeof setTimeout> | undefined
  #isStopped = false

  /** With `everyMs` 0 nothing is swept in the background. */
  constructor(everyMs: number, sweep: () => Promise<unknown>) {
    this.#everyMs = everyMs
    this.#sweep = sweep
  }

  /** Called after rows were written. Starts the timer unless it runs. The timer does not keep the process alive. */
  wrote(): void {
    if (this.#timer !== undefined || this.#everyMs === 0 || this.#isStopped) return
    this.#timer = setTimeout(() => this.#run(), this.#everyMs)
    const { unref } = this.#timer as { unref?: () => unknown }
    unref?.call(this.#timer)
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  /** Errors are ignored, because ended rows only take space. The next write starts the timer again. */
  #run(): void {
    const done = (): void => {
      this.#timer = undefined
    }
    this.#sweep().then(done, done)
  }
}
