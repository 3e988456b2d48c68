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
  /** Of these, the checks of each minute of the last hour, oldest first; `error` are those that are in none. */
  readonly minutes: readonly number[]
}

export interface Top {
  readonly clients: readonly TopClient[]
  /** A client that is not listed, and would be if more were asked for, had at most so many checks. */
  readonly unlisted_at_most: number
}

const MINUTE_MS = 60_000
const SLICE_MINUTES = 10
const SLICE_MS = SLICE_MINUTES * MINUTE_MS
const SLICES = 6

/** Clients kept for each ten minutes: with so many, a count is off by at most a 512th of the checks of that time. */
const KEPT = 512

interface Slice {
  readonly startMs: number
  readonly sketch: SpaceSaving
}

export class TopClients {
  /** The newest last. */
  readonly #slices: Slice[] = []
  readonly #kept: number

  constructor(kept: number = KEPT) {
    this.#kept = kept
  }

  add(clientId: string, nowMs: number): void {
    let slice = this.#slices.at(-1)
    if (slice === undefined || nowMs >= slice.startMs + SLICE_MS) {
      slice = { startMs: nowMs - (nowMs % SLICE_MS), sketch: new SpaceSaving(this.#kept, SLICE_MINUTES) }
      this.#slices.push(slice)
      if (this.#slices.length > SLICES) this.#slices.shift()
    }
    // A clock that steps back counts in the minute that is open.
    slice.sketch.add(clientId, Math.max(0, Math.floor((nowMs - slice.startMs) / MINUTE_MS)))
  }

  /** The `most` clients with the highest counts over the last hour, to the ten minutes. */
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
}

function minutesOf(clientId: string, slices: readonly Slice[], nowMs: number): number[] {
  const minutes = new Array<number>(SLICES * SLICE_MINUTES).fill(0)
  const first = Math.floor(nowMs / MINUTE_MS) - minutes.length + 1
  for (const { startMs, sketch } of slices) {
    sketch.get(clientId)?.bySteps.forEach((count, step) => {
      const at = startMs / MINUTE_MS + step - first
      if (at >= 0 && at < minutes.length) minutes[at] += count
    })
  }
  return minutes
}
