// Puts entries of a log in the order of their times, as far as a bounded buffer reaches. Servers write a line when its response ends, so a
// log with start times is out of order by the length of its responses.
// Invariant: at most MOST_HELD entries are held. An entry is passed on once the log is `withinMs` further, or the buffer is full.

import { detached, type LogEntry } from '../forms/entry-reader.ts'

export const MOST_HELD = 100_000

export class Reordered {
  readonly #withinMs: number
  readonly #pass: (entry: LogEntry) => void
  /** Sorted by time. Entries before `#head` were passed on. */
  #held: LogEntry[] = []
  #head = 0

  /** With 0 milliseconds, entries are passed on as they come. */
  constructor(withinMs: number, pass: (entry: LogEntry) => void) {
    this.#withinMs = withinMs
    this.#pass = pass
  }

  add(entry: LogEntry): void {
    if (this.#withinMs === 0) return this.#pass(entry)
    const held = this.#held
    // Nearly every entry belongs at the end or close to it.
    let at = held.length
    while (at > this.#head && held[at - 1].timeMs > entry.timeMs) at -= 1
    const kept = { ...entry, clientId: detached(entry.clientId), route: detached(entry.route), tagger: undefined }
    if (at === held.length) held.push(kept)
    else held.splice(at, 0, kept)
    const untilMs = held[held.length - 1].timeMs - this.#withinMs
    while (this.#head < held.length && (held[this.#head].timeMs <= untilMs || held.length - this.#head > MOST_HELD))
      this.#passFirst()
    if (this.#head > MOST_HELD) this.#forgetPassed()
  }

  /** Passes on all that is held. */
  end(): void {
    while (this.#head < this.#held.length) this.#passFirst()
    this.#forgetPassed()
  }

  #passFirst(): void {
    this.#pass(this.#held[this.#head])
    this.#head += 1
  }

  #forgetPassed(): void {
    this.#held = this.#held.slice(this.#head)
    this.#head = 0
  }
}
