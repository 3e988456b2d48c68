// The queue of calls that wait for a transaction. It puts calls into groups. A call on a row of a running group waits.
// Invariants: no row is in two groups at once, and calls that share a row run in the order in which they came. A call whose asker
// has left is never in a new group, nor is one that would overtake a refused call on its key.

import type { SluiceError } from '../core/errors.ts'
import type { Asker } from '../core/store.ts'
import { whyNotSent } from './late-calls.ts'

export interface QueuedCall {
  /** The rows that the call reads and writes. */
  readonly names: readonly string[]
  readonly asker?: Asker | undefined
  readonly reject: (reason: SluiceError) => void
}

export interface QueueBounds {
  /** The most calls of a group. */
  readonly calls: number
  /** The most rows of a group. A call with more rows runs alone. */
  readonly rows: number
  /** The most calls that wait. */
  readonly waiting: number
  /** The most groups that run at once. */
  readonly groups: number
  /**
   * - `'any'`: a group may hold calls without a common row.
   * - `'connected'`: each call of a group shares a row with an earlier call of it. Other calls go into groups of their own, so that
   *   they do not wait for each other.
   */
  readonly together: 'any' | 'connected'
}

/** The most calls that are examined for one group. Held calls do not count. Reading all of a long queue each time is slow. */
const MOST_LOOKED_AT = { any: 1024, connected: 128 } as const

export class CallQueue<C extends QueuedCall> {
  readonly #bounds: QueueBounds
  readonly #run: (group: readonly C[]) => Promise<void>
  readonly #underWay = new Set<Promise<void>>()
  /** Rows of the running groups. */
  readonly #busy = new Set<string>()
  #waiting: C[] = []
  /** Number of calls in `#waiting` by row. */
  readonly #waitingRows = new Map<string, number>()
  /**
   * Calls that wait for a row of a running group. They are examined again when such a row is free. So any number of calls on one
   * row does not delay calls on other rows.
   * Invariant: a held call came before every call in `#waiting` that shares a row with it.
   */
  #held: C[] = []
  /** Rows of the held calls. */
  readonly #heldRows = new Set<string>()

  /** `run` runs a group and never rejects. */
  constructor(bounds: QueueBounds, run: (group: readonly C[]) => Promise<void>) {
    this.#bounds = bounds
    this.#run = run
  }

  /** Queues calls. Returns the calls for which there is no space. */
  add(calls: readonly C[]): readonly C[] {
    if (this.#space() < calls.length) this.#dropLate()
    const space = this.#space()
    for (const call of calls.slice(0, space)) {
      this.#waiting.push(call)
      this.#countRows(call, 1)
    }
    this.#startGroups()
    return calls.slice(space)
  }

  /** True if no call waits and no group runs. */
  get isIdle(): boolean {
    return this.#underWay.size === 0
  }

  /** Resolves when no call waits and no group runs. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  #space(): number {
    return Math.max(0, this.#bounds.waiting - this.#waiting.length - this.#held.length)
  }

  /** Drops the calls whose askers have left. `#heldRows` may keep rows of dropped calls until the next release. */
  #dropLate(): void {
    this.#waiting = this.#waiting.filter((call) => {
      if (isKept(call)) return true
      this.#countRows(call, -1)
      return false
    })
    this.#held = this.#held.filter(isKept)
  }

  #startGroups(): void {
    while (this.#underWay.size < this.#bounds.groups) {
      const group = this.#takeGroup()
      if (group.length === 0) return
      this.#start(group)
    }
  }

  #start(group: readonly C[]): void {
    for (const { names } of group) for (const name of names) this.#busy.add(name)
    const running = this.#run(group).then(() => {
      this.#underWay.delete(running)
      for (const { names } of group) for (const name of names) this.#busy.delete(name)
      if (group.some(({ names }) => names.some((name) => this.#heldRows.has(name)))) this.#release()
      this.#startGroups()
    })
    this.#underWay.add(running)
  }

  /** Takes the next group out of the queue: calls from its front, without those that must wait. */
  #takeGroup(): C[] {
    const group: C[] = []
    const left: C[] = []
    const rows = new Set<string>()
    /** Rows of calls that wait. A later call on one of them waits too. */
    const waitedFor = new Set<string>()
    const { calls, rows: mostRows, together } = this.#bounds
    const most = MOST_LOOKED_AT[together]
    let at = 0
    let looked = 0
    while (at < this.#waiting.length && looked < most && group.length < calls) {
      const call = this.#waiting[at++]
      this.#countRows(call, -1)
      if (!isKept(call)) continue
      const isBehind = call.names.some((name) => waitedFor.has(name))
      const isBlocked = call.names.some((name) => this.#busy.has(name) || this.#heldRows.has(name))
      if (isBlocked && !isBehind) {
        this.#hold(call)
        continue
      }
      looked += 1
      const isFree = !isBlocked && !isBehind
      const more = call.names.filter((name) => !rows.has(name)).length
      const fits = rows.size + more <= mostRows && (together === 'any' || more < call.names.length)
      if (isFree && (group.length === 0 || fits)) {
        group.push(call)
        for (const name of call.names) rows.add(name)
        if (together === 'connected' && !this.#isWaitedFor(rows)) break
      } else {
        left.push(call)
        for (const name of call.names) waitedFor.add(name)
      }
    }
    this.#waiting.splice(0, at, ...left)
    for (const call of left) this.#countRows(call, 1)
    return group
  }

  #countRows({ names }: C, change: number): void {
    for (const name of names) {
      const count = (this.#waitingRows.get(name) ?? 0) + change
      if (count === 0) this.#waitingRows.delete(name)
      else this.#waitingRows.set(name, count)
    }
  }

  /** True if a call in `#waiting` that was not looked at yet has one of these rows. */
  #isWaitedFor(rows: ReadonlySet<string>): boolean {
    for (const row of rows) if (this.#waitingRows.has(row)) return true
    return false
  }

  #hold(call: C): void {
    this.#held.push(call)
    for (const name of call.names) this.#heldRows.add(name)
  }

  /** Puts all held calls back to the front of the queue. */
  #release(): void {
    this.#waiting = this.#held.concat(this.#waiting)
    for (const call of this.#held) this.#countRows(call, 1)
    this.#held = []
    this.#heldRows.clear()
  }
}

/** Rejects a call that must not be sent any more. Returns true for any other call. */
function isKept(call: QueuedCall): boolean {
  const error = whyNotSent(call.asker)
  if (error !== undefined) call.reject(error)
  return error === undefined
}
