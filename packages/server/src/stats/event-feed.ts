// What just happened, for people who watch: a sample of checks, with the reason for each answer.
// What must stay true: whatever the traffic, no more than so many events are made in a second, and nobody who listens slowly holds up a check.

/** One check, as those who watch see it. */
export interface CheckEvent {
  readonly time: string
  readonly client_id: string
  readonly route: string
  /** The route that it was counted under, where that is another. */
  readonly counted_route?: string
  readonly cost: number
  readonly policy: string
  readonly outcome: 'allow' | 'deny' | 'error'
  readonly reason: string
  /** The rule that spoke, and its numbers. */
  readonly rule: string
  readonly limit: number
  readonly remain: number
  /** null: never. */
  readonly retry_after_ms: number | null
  readonly source: string
  /** Checks of the same kind, denied or not, that were left out of the sample since the one before. */
  readonly skipped: number
}

/** Takes what came in the last moment, oldest first. */
export type EventListener = (events: readonly CheckEvent[]) => void

/** Events of a kind, denied or not, that are made in a second while somebody listens; while nobody does, denied ones for later. */
const HEARD_A_SECOND = 500
const UNHEARD_DENIED_A_SECOND = 50

/** Events are handed on together, so that many cost those who listen little more than few. */
const GATHER_MS = 50

const RECENT = 100
const MOST_LISTENERS = 64

export class EventFeed {
  readonly #listeners = new Set<EventListener>()
  readonly #recent: CheckEvent[] = []
  readonly #denied = new Sample()
  readonly #others = new Sample()
  #gathered: CheckEvent[] = []

  /** The latest checks that were denied, or would have been but for shadow mode. */
  get recent(): readonly CheckEvent[] {
    return this.#recent
  }

  get listeners(): number {
    return this.#listeners.size
  }

  /** → what stops listening; undefined if too many listen already. */
  listen(listener: EventListener): (() => void) | undefined {
    if (this.#listeners.size >= MOST_LISTENERS) return undefined
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Whether the check is part of the sample: if so, hand its event to `publish`. */
  samples(second: number, isDenied: boolean): boolean {
    if (this.#listeners.size > 0) return this.#sampleOf(isDenied).takes(second, HEARD_A_SECOND)
    return isDenied && this.#denied.takes(second, UNHEARD_DENIED_A_SECOND)
  }

  publish(event: Omit<CheckEvent, 'skipped'>, isDenied: boolean): void {
    const told = { ...event, skipped: this.#sampleOf(isDenied).tellSkipped() }
    if (isDenied) {
      this.#recent.push(told)
      if (this.#recent.length > RECENT) this.#recent.shift()
    }
    if (this.#listeners.size === 0) return
    if (this.#gathered.length === 0) setTimeout(() => this.#handOn(), GATHER_MS).unref()
    this.#gathered.push(told)
  }

  #sampleOf(isDenied: boolean): Sample {
    return isDenied ? this.#denied : this.#others
  }

  #handOn(): void {
    const events = this.#gathered
    this.#gathered = []
    for (const listener of this.#listeners) listener(events)
  }
}

/** The first so many of each second. */
class Sample {
  #second = 0
  #taken = 0
  #skipped = 0

  takes(second: number, most: number): boolean {
    if (second !== this.#second) {
      this.#second = second
      this.#taken = 0
    }
    const isTaken = this.#taken < most
    if (isTaken) this.#taken += 1
    else this.#skipped += 1
    return isTaken
  }

  /** How many were not taken since this was last asked. */
  tellSkipped(): number {
    const skipped = this.#skipped
    this.#skipped = 0
    return skipped
  }
}
