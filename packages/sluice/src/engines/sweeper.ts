// Deletes rows that have ended: some of them in the background after writes, or all of them on request.

import { mustBe } from '../core/errors.ts'
import { isWhole } from '../core/whole-numbers.ts'

/** Deletes at most `rows` rows that ended at least `endedForMs` ago by the store's clock. Returns the number of deleted rows. */
export type Sweep = (bounds: { readonly rows: number; readonly endedForMs: number }) => Promise<number>

/** A sweep follows after so many written rows. It deletes up to twice as many, so the number of ended rows stays bounded. */
const ROWS_WRITTEN = 1000
const ROWS_SWEPT = 2 * ROWS_WRITTEN

/** A background sweep keeps rows for an hour after their end. If the clock is set back by less, their counts are still there. */
export const SPARED_MS = 3_600_000

export class Sweeper {
  readonly #sweep: Sweep | undefined
  #written = 0
  #isSweeping = false

  constructor(sweep: Sweep | undefined) {
    this.#sweep = sweep
  }

  /** Counts written rows and starts a sweep when there are enough. Ignores errors, because ended rows only take space. */
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

  /** Drops every row that has ended. Returns the number of dropped rows. */
  async all(): Promise<number> {
    if (this.#sweep === undefined) return 0
    let dropped = 0
    for (;;) {
      const swept = await this.#sweep({ rows: ROWS_SWEPT, endedForMs: 0 })
      if (!isWhole(swept, 0))
        throw mustBe('ERR_STORE_FATAL', 'sweep', 'a function that returns the number of deleted rows', swept)
      dropped += swept
      if (swept < ROWS_SWEPT) return dropped
    }
  }
}
