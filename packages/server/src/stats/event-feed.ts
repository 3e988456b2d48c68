// What just happened, for people who watch: a sample of checks, with the reason for each answer.
// What must stay true: whatever the traffic, no more than so many events are made in a second, and nobody who listens slowly holds up a check.

/** One check, as those who watch see it. */
export interface CheckEvent {
  readonly time: string
  readonly client_id: string
  readonly route: string
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

export type EventListener = (event: CheckEvent) => void

/** Events made in a second: of checks that were denied, or would have been but for shadow mode; and of all others, only while somebody listens. */
const DENIED_A_SECOND = 50
const OTHERS_A_SECOND = 10

const RECENT = 100
const MOST_LISTENERS = 64

export class EventFeed {
  readonly #listeners = new Set<EventListener>()
  readonly #recent: CheckEvent[] = []
  #second = 0
  #denied = 0
  #others = 0
  #skippedDenied = 0
  #skippedOthers = 0

  /** The latest events of checks that were denied, oldest first. */
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
    if (!isDenied && this.#listeners.size === 0) return false
    if (second !== this.#second) {
      this.#second = second
      this.#denied = 0
      this.#others = 0
    }
    if (isDenied) {
      if (this.#denied < DENIED_A_SECOND) {
        this.#denied += 1
        return true
      }
      this.#skippedDenied += 1
    } else {
      if (this.#others < OTHERS_A_SECOND) {
        this.#others += 1
        return true
      }
      this.#skippedOthers += 1
    }
    return false
  }

  publish(event: Omit<CheckEvent, 'skipped'>, isDenied: boolean): void {
    const told = { ...event, skipped: isDenied ? this.#skippedDenied : this.#skippedOthers }
    if (isDenied) {
      this.#skippedDenied = 0
      this.#recent.push(told)
      if (this.#recent.length > RECENT) this.#recent.shift()
    } else {
      this.#skippedOthers = 0
    }
    for (const listener of this.#listeners) listener(told)
  }
}
