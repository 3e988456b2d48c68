// The checks of the last hour, or of a sample of the clients, for replays. One slice for each ten minutes.
// Invariant: the slices take at most MOST_BYTES. If the checks of a slice do not fit, half of the clients are left out: either all checks of
// a client in a slice are kept, or none is, unless checks are counted as missed. So a replay of the sample has the usage of the clients that it has.

import { randomInt } from 'node:crypto'
import type { CheckForm } from './stats.ts'

export interface RecentCheck {
  readonly timeMs: number
  readonly clientId: string
  readonly route: string
  readonly form?: CheckForm | undefined
  readonly cost: number
  readonly attributes?: Readonly<Record<string, string>> | undefined
}

export interface RecentSample {
  /** Oldest first. */
  readonly checks: readonly RecentCheck[]
  /** Share of the clients in the sample: 1, 1/2, 1/4 and so on. */
  readonly share: number
  /** Checks of clients in the sample that did not fit, because a single client has more checks than a slice can hold. */
  readonly missed: number
  /** Checks that were decided since then, in the sample or not. */
  readonly decided: number
  /** Checks of the sample are at or after this time: 50 to 60 minutes ago. */
  readonly sinceMs: number
}

/** Bound of the memory for all slices, by an estimate that is never too low. */
export const MOST_BYTES = 2 ** 24

const SLICE_MS = 600_000
const SLICES = 6
const SLICE_BYTES = MOST_BYTES / SLICES

/** Share of a slice that is used after clients were left out. */
const SHRUNK = 0.75

/** Bytes of an object with its numbers and the headers of its texts. */
const CHECK_BYTES = 160
const ATTRIBUTE_BYTES = 96
const CHARACTER_BYTES = 2

/** The sample is halved at most so often. */
const MOST_HALVINGS = 24

interface Slice {
  readonly startMs: number
  checks: RecentCheck[]
  bytes: number
  /** A client is in the sample if so many low bits of its hash are 0. */
  halvings: number
  /** Number of all checks, in the sample or not. */
  decided: number
  missed: number
  /** True if leaving out clients makes no more space, so that a check never searches for it in vain. */
  isFull: boolean
}

export class RecentChecks {
  readonly #slices: Slice[] = []
  /** A secret start of the hash, so that nobody can choose to be in the sample. */
  readonly #seed = randomInt(2 ** 31)

  add(check: Omit<RecentCheck, 'timeMs'>, nowMs: number): void {
    const slice = this.#sliceAt(nowMs)
    slice.decided += 1
    if (!this.#isSampled(check.clientId, slice.halvings)) return
    if (slice.isFull) {
      slice.missed += 1
      return
    }
    const { clientId, route, form, cost, attributes } = check
    slice.bytes += bytesOf(check)
    slice.checks.push({ timeMs: nowMs, clientId, route, form, cost, attributes })
    if (slice.bytes > SLICE_BYTES) this.#shrink(slice)
  }

  /** Returns the checks of the last hour, for the clients that are in the sample of every slice. */
  read(nowMs: number): RecentSample {
    // Whole slices of the last hour.
    const sinceMs = Math.ceil((nowMs - SLICES * SLICE_MS) / SLICE_MS) * SLICE_MS
    const slices = this.#slices.filter(({ startMs }) => startMs >= sinceMs)
    const halvings = Math.max(0, ...slices.map((slice) => slice.halvings))
    const checks = slices.flatMap((slice) => slice.checks.filter(({ clientId }) => this.#isSampled(clientId, halvings)))
    const total = (of: 'missed' | 'decided'): number => slices.reduce((sum, slice) => sum + slice[of], 0)
    return { checks, share: 2 ** -halvings, missed: total('missed'), decided: total('decided'), sinceMs }
  }

  /** Bytes that all slices take, by the estimate. */
  get bytes(): number {
    return this.#slices.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  #sliceAt(nowMs: number): Slice {
    const last: Slice | undefined = this.#slices[this.#slices.length - 1]
    // If the clock steps back, the last slice is used.
    if (last !== undefined && nowMs < last.startMs + SLICE_MS) return last
    const halvings = Math.max(0, (last?.halvings ?? 0) - 1)
    const slice = { startMs: nowMs - (nowMs % SLICE_MS), checks: [], bytes: 0, halvings, decided: 0, missed: 0, isFull: false }
    this.#slices.push(slice)
    if (this.#slices.length > SLICES) this.#slices.shift()
    return slice
  }

  /** Leaves out half of the clients, until a quarter of the slice is free. If the rest is one client, the slice is full. */
  #shrink(slice: Slice): void {
    while (slice.bytes > SLICE_BYTES * SHRUNK) {
      const kept = slice.checks.filter(({ clientId }) => this.#isSampled(clientId, slice.halvings + 1))
      slice.isFull = kept.length === 0 || slice.halvings + 1 >= MOST_HALVINGS
      if (slice.isFull) break
      slice.halvings += 1
      slice.checks = kept
      slice.bytes = kept.reduce((sum, check) => sum + bytesOf(check), 0)
    }
    if (slice.bytes <= SLICE_BYTES) return
    const last = slice.checks.pop()
    if (last !== undefined) slice.bytes -= bytesOf(last)
    slice.missed += 1
  }

  #isSampled(clientId: string, halvings: number): boolean {
    if (halvings === 0) return true
    let hash = this.#seed
    for (let i = 0; i < clientId.length; i++) hash = (Math.imul(hash, 31) + clientId.charCodeAt(i)) | 0
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
    hash ^= hash >>> 13
    return (hash & ((1 << halvings) - 1)) === 0
  }
}

function bytesOf({ clientId, route, attributes }: Omit<RecentCheck, 'timeMs'>): number {
  let bytes = CHECK_BYTES + (clientId.length + route.length) * CHARACTER_BYTES
  if (attributes === undefined) return bytes
  for (const name in attributes) bytes += ATTRIBUTE_BYTES + (name.length + attributes[name].length) * CHARACTER_BYTES
  return bytes
}
