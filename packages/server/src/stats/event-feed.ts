// A live feed of checks: a sample, with the reason for each outcome.
// Invariant: the number of events in a second is bounded whatever the traffic, and a slow listener never delays a check.

/** The event of one check. */
export interface CheckEvent {
  readonly time: string
  readonly client_id: string
  readonly route: string
  /** The route that the check was counted under, if it differs. */
  readonly counted_route?: string
  readonly cost: number
  readonly policy: string
  readonly outcome: 'allow' | 'deny' | 'error'
  readonly reason: string
  /** The rule that decided the outcome, with its numbers. */
  readonly rule: string
  readonly limit: number
  readonly remain: number
  /** null if the cost never passes. */
  readonly retry_after_ms: number | null
  readonly source: string
  /** Number of checks of the same kind (news or not) that the sample left out since the previous event. */
  readonly skipped: number
}

/** Receives the events of the last interval, oldest first. */
export type EventListener = (events: readonly CheckEvent[]) => void

/** Maximum number of events in a second for each kind (news or not) with listeners, and for news without listeners. */
const HEARD_A_SECOND = 500
const UNHEARD_NEWS_A_SECOND = 50

/** Events are passed on in batches at this interval, so that many events cost little more than few. */
const FLUSH_MS = 50

const RECENT = 100
const MOST_LISTENERS = 64

export class EventFeed {
  readonly #listeners = new Set<EventListener>()
  readonly #recent: CheckEvent[] = []
  readonly #news = new Sample()
  readonly #others = new Sample()
  #queue: CheckEvent[] = []

  /** The latest news: checks that were denied, or would have been denied without shadow mode. */
  get recent(): readonly CheckEvent[] {
    return this.#recent
  }

  get listeners(): number {
    return this.#listeners.size
  }

  /** Returns a function that removes the listener, or undefined if there are too many listeners. */
  listen(listener: EventListener): (() => void) | undefined {
    if (this.#listeners.size >= MOST_LISTENERS) return undefined
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** True if the check is part of the sample. Then pass its event to `publish`. `isNews`: denied, or denied in shadow mode. */
  samples(second: number, isNews: boolean): boolean {
    if (this.#listeners.size > 0) return this.#sampleOf(isNews).takes(second, HEARD_A_SECOND)
    return isNews && this.#news.takes(second, UNHEARD_NEWS_A_SECOND)
  }

  publish(event: Omit<CheckEvent, 'skipped'>, isNews: boolean): void {
    const full = { ...event, skipped: this.#sampleOf(isNews).takeSkipped() }
    if (isNews) {
      this.#recent.push(full)
      if (this.#recent.length > RECENT) this.#recent.shift()
    }
    if (this.#listeners.size === 0) return
    if (this.#queue.length === 0) setTimeout(() => this.#flush(), FLUSH_MS).unref()
    this.#queue.push(full)
  }

  #sampleOf(isNews: boolean): Sample {
    return isNews ? this.#news : this.#others
  }

  #flush(): void {
    const events = this.#queue
    this.#queue = []
    for (const listener of this.#listeners) listener(events)
  }
}

/** Takes the first events of each second. */
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

  /** Returns the number of skipped events since the last call. */
  takeSkipped(): number {
    const skipped = this.#skipped
    this.#skipped = 0
    return skipped
  }
}
