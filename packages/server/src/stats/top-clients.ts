// The clients with the most checks in the last hour, and the minutes of one client: one sketch for each ten minutes, summed on demand.
// Invariant: the stated error holds for the sum. A client that a full sketch does not keep may have occurred as often as that
// sketch's `least`, so this is added to its count and to its error.

import { SpaceSaving } from './space-saving.ts'

export interface TopClient {
  readonly client_id: string
  /** Upper bound of the number of checks. */
  readonly count: number
  /** The most by which `count` may be too high. */
  readonly error: number
  /** Checks of each minute of the last hour, oldest first. `error` counts checks not assigned to any minute. */
  readonly minutes: readonly number[]
}

export interface Top {
  readonly clients: readonly TopClient[]
  /** Upper bound for the checks of any client that is not listed. */
  readonly unlisted_at_most: number
}

/** The checks of one client over time. */
export interface ClientMinutes {
  /** Checks of each minute of the last hour, oldest first. The last minute is still running. */
  readonly minutes: readonly number[]
  /** Upper bound of checks that no minute has. */
  readonly missingAtMost: number
}

export const MINUTE_MS = 60_000
const SLICE_MINUTES = 10
const SLICE_MS = SLICE_MINUTES * MINUTE_MS
const SLICES = 6

/** Minutes of a client that are read. */
export const READ_MINUTES = SLICES * SLICE_MINUTES

/** A whole hour by the minute begins in the slice before those of the hour. */
const KEPT_SLICES = SLICES + 1

/** Clients kept for each ten minutes. A count is too high by at most a 512th of the checks of that time. */
const KEPT = 512

interface Slice {
  readonly startMs: number
  readonly sketch: SpaceSaving
}

export class TopClients {
  /** Oldest first. */
  readonly #slices: Slice[] = []
  readonly #kept: number

  constructor(kept: number = KEPT) {
    this.#kept = kept
  }

  add(clientId: string, nowMs: number): void {
    let slice: Slice | undefined = this.#slices[this.#slices.length - 1]
    if (slice === undefined || nowMs >= slice.startMs + SLICE_MS) {
      slice = { startMs: nowMs - (nowMs % SLICE_MS), sketch: new SpaceSaving(this.#kept, SLICE_MINUTES) }
      this.#slices.push(slice)
      if (this.#slices.length > KEPT_SLICES) this.#slices.shift()
    }
    // If the clock steps back to before the slice, the first minute of the slice is used.
    slice.sketch.add(clientId, Math.max(0, Math.floor((nowMs - slice.startMs) / MINUTE_MS)))
  }

  /** Returns the `most` clients with the highest counts. The hour is accurate to ten minutes. */
  read(most: number, nowMs: number): Top {
    const slices = this.#slices.filter(({ startMs }) => startMs > nowMs - SLICES * SLICE_MS)
    const sketches = slices.map(({ sketch }) => sketch)
    const least = sketches.reduce((sum, sketch) => sum + sketch.least, 0)
    const clients = new Map<string, Omit<TopClient, 'minutes'>>()
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
    const listed = sorted.slice(0, most).map((client) => ({ ...client, minutes: minutesOf(client.client_id, slices, nowMs) }))
    return { clients: listed, unlisted_at_most: Math.max(least, sorted[most]?.count ?? 0) }
  }

  /** Returns the minutes of one client. A client that comes rarely while more than KEPT others come is not in all of them. */
  readClient(clientId: string, nowMs: number): ClientMinutes {
    const slices = this.#slices.filter(({ startMs }) => startMs > nowMs - KEPT_SLICES * SLICE_MS)
    const missingAtMost = slices.reduce((sum, { sketch }) => sum + (sketch.get(clientId)?.error ?? sketch.least), 0)
    return { minutes: minutesOf(clientId, slices, nowMs), missingAtMost }
  }
}

function minutesOf(clientId: string, slices: readonly Slice[], nowMs: number): number[] {
  const minutes = new Array<number>(READ_MINUTES).fill(0)
  const first = Math.floor(nowMs / MINUTE_MS) - minutes.length + 1
  for (const { startMs, sketch } of slices) {
    sketch.get(clientId)?.bySteps.forEach((count, step) => {
      const at = startMs / MINUTE_MS + step - first
      if (at >= 0 && at < minutes.length) minutes[at] += count
    })
  }
  return minutes
}
