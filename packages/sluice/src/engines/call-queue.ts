// Calls that wait for a transaction. Those that can go together do; those whose rows are under way wait for the next one.
// Invariant: no row is in two groups at once, and calls that share a row run in the order in which they came.

export interface QueuedCall {
  /** The rows that the call reads and writes. */
  readonly names: readonly string[]
}

export interface QueueBounds {
  /** Most calls of a group. */
  readonly calls: number
  /** Most rows of a group. A call with more runs alone. */
  readonly rows: number
  /** Most calls that wait. */
  readonly waiting: number
  /** Most groups under way at once. */
  readonly groups: number
  /** `'any'`: a group takes whatever is free. `'connected'`: only calls that share rows, so that no call waits for a stranger. */
  readonly together: 'any' | 'connected'
}

/** Calls that are looked at for one group: a long queue must not be read again and again. */
const MOST_LOOKED_AT = { any: 1024, connected: 128 } as const

export class CallQueue<C extends QueuedCall> {
  readonly #bounds: QueueBounds
  readonly #run: (group: readonly C[]) => Promise<void>
  readonly #underWay = new Set<Promise<void>>()
  /** Rows of the groups under way. */
  readonly #busy = new Set<string>()
  #waiting: C[] = []

  /** `run` runs a group and never rejects. */
  constructor(bounds: QueueBounds, run: (group: readonly C[]) => Promise<void>) {
    this.#bounds = bounds
    this.#run = run
  }

  /** Queues calls; returns those for which there is no space. */
  add(calls: readonly C[]): readonly C[] {
    const space = Math.max(0, this.#bounds.waiting - this.#waiting.length)
    for (const call of calls.slice(0, space)) this.#waiting.push(call)
    this.#startGroups()
    return calls.slice(space)
  }

  /** Resolves when nothing waits and nothing is under way. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
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
      this.#startGroups()
    })
    this.#underWay.add(running)
  }

  /** The next group: calls from the front of the queue, without those that must wait. */
  #takeGroup(): C[] {
    const group: C[] = []
    const left: C[] = []
    const rows = new Set<string>()
    /** Rows of calls that wait: a later call on one of them waits too. */
    const waitedFor = new Set<string>()
    const { calls, rows: mostRows, together } = this.#bounds
    const most = Math.min(this.#waiting.length, MOST_LOOKED_AT[together])
    let looked = 0
    while (looked < most && group.length < calls) {
      const call = this.#waiting[looked++]
      const isFree = call.names.every((name) => !this.#busy.has(name) && !waitedFor.has(name))
      const more = call.names.filter((name) => !rows.has(name)).length
      const fits = rows.size + more <= mostRows && (together === 'any' || more < call.names.length)
      if (isFree && (group.length === 0 || fits)) {
        group.push(call)
        for (const name of call.names) rows.add(name)
      } else {
        left.push(call)
        for (const name of call.names) waitedFor.add(name)
      }
    }
    this.#waiting.splice(0, looked, ...left)
    return group
  }
}
