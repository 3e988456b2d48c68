// Which clients were seen most in the last hour: one sketch for each ten minutes, summed when somebody asks.
// What must stay true: the stated error holds for the sum. A client that a full sketch does not keep may have been seen
// as often as that sketch's least, so that much is added to its count and to its error.

import { SpaceSaving } from './space-saving.ts'

export interface TopClient {
  readonly client_id: string
  /** At most so many checks. */
  readonly count: number
  /** By how much `count` may be too high. */
  readonly error: number
}

export interface Top {
  readonly clients: readonly TopClient[]
  /** A client that is not listed, and would be if more were asked for, had at most so many checks. */
  readonly unlisted_at_most: number
}

const SLICE_MS = 600_000
const SLICES = 6

/** Clients kept for each ten minutes: with so many, a count is off by at most a 512th of the checks of that time. */
const KEPT = 512

export class TopClients {
  /** The newest last. */
  readonly #slices: { readonly startMs: number; readonly sketch: SpaceSaving }[] = []
  readonly #kept: number

  constructor(kept: number = KEPT) {
    this.#kept = kept
  }

  add(clientId: string, nowMs: number): void {
    let slice = this.#slices.at(-1)
    if (slice === undefined || nowMs >= slice.startMs + SLICE_MS) {
      slice = { startMs: nowMs - (nowMs % SLICE_MS), sketch: new SpaceSaving(this.#kept) }
      this.#slices.push(slice)
      if (this.#slices.length > SLICES) this.#slices.shift()
    }
    slice.sketch.add(clientId)
  }

  /** The `most` clients with the highest counts over the last hour, to the ten minutes. */
  read(most: number, nowMs: number): Top {
    const sketches = this.#slices.filter(({ startMs }) => startMs > nowMs - SLICES * SLICE_MS).map(({ sketch }) => sketch)
    const least = sketches.reduce((sum, sketch) => sum + sketch.least, 0)
    const clients = new Map<string, TopClient>()
    for (const client_id of sketches.flatMap((sketch) => [...sketch.items()])) {
      if (clients.has(client_id)) continue
      let count = 0
      let error = 0
      for (const sketch of sketches) {
        const seen = sketch.get(client_id)
        count += seen?.count ?? sketch.least
        error += seen?.error ?? sketch.least
      }
      clients.set(client_id, { client_id, count, error })
    }
    const sorted = [...clients.values()].sort((a, b) => b.count - a.count || (a.client_id < b.client_id ? -1 : 1))
    return { clients: sorted.slice(0, most), unlisted_at_most: Math.max(least, sorted[most]?.count ?? 0) }
  }
}
