// Drops rows that have ended, a bounded number at a time: in the background as rows are written, or all when asked.

/** Deletes at most `rows` rows that ended at least `endedForMs` ago by the store's clock; returns how many. */
export type Sweep = (bounds: { readonly rows: number; readonly endedForMs: number }) => Promise<number>

/** A sweep follows so many written rows, and drops up to twice as many: so rows that have ended cannot pile up. */
const ROWS_WRITTEN = 1000
const ROWS_SWEPT = 2 * ROWS_WRITTEN

/** In the background, rows outlive their end by an hour: a clock that is set back by less finds what was counted. */
const SPARED_MS = 3_600_000

export class Sweeper {
  readonly #sweep: Sweep | undefined
  #written = 0
  #isSweeping = false

  constructor(sweep: Sweep | undefined) {
    this.#sweep = sweep
  }

  /** Counts written rows, and sweeps when it is time. An error is the next sweep's: rows that have ended only take space. */
  wrote(rows: number): void {
    if (this.#sweep === undefined) return
    this.#written += rows
    if (this.#written < ROWS_WRITTEN || this.#isSweeping) return
    this.#written = 0
    this.#isSweeping = true
    const done = (): void => {
      this.#isSweeping = false
    }
    Promise.resolve()
      .then(() => this.#sweep?.({ rows: ROWS_SWEPT, endedForMs: SPARED_MS }))
      .then(done, done)
  }

  /** Drops every row that has ended; returns how many. */
  async all(): Promise<number> {
    if (this.#sweep === undefined) return 0
    let dropped = 0
    for (;;) {
      const swept = await this.#sweep({ rows: ROWS_SWEPT, endedForMs: 0 })
      dropped += swept
      if (swept < ROWS_SWEPT) return dropped
    }
  }
}
