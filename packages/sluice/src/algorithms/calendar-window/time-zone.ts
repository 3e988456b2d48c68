// The time on the clocks of a time zone, asked of Intl. A local time is written as if the zone were UTC: in ms since the epoch.
// Invariant: the clocks of a zone are changed at most once within FURTHEST_MS. A test asks every zone of the runtime.

import { LONGEST_TEXT } from '../../core/rule-options.ts'
import { dayMs } from './civil-time.ts'

/** The clocks of no zone are further from UTC. */
const FURTHEST_MS = 86_400_000

/** There are about 600 names of zones. Others differ in upper and lower case. Beyond so many, all are forgotten. */
const MOST_ZONES = 1024

/** Zones by name. Rules share them, because each takes kilobytes. */
const zones = new Map<string, TimeZone>()

/** Matches the names of zones. An offset such as +01:00, which only some runtimes know, is no name. */
const NAME = /^[A-Za-z][\w+/-]*$/

type Field = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second'

const NUMBERS = /\d+/g

export class TimeZone {
  readonly #isUtc: boolean
  readonly #format: Intl.DateTimeFormat
  /** The fields of a time as Intl writes it, in order. */
  readonly #fields: readonly string[]

  private constructor(name: string) {
    this.#isUtc = name === 'UTC'
    this.#format = new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
      timeZone: name,
      hourCycle: 'h23',
      ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' },
    })
    this.#fields = this.#format.formatToParts(0).flatMap(({ type }) => (type === 'literal' ? [] : [type]))
  }

  /** Returns the zone with this name; undefined if the runtime knows none. */
  static named(name: unknown): TimeZone | undefined {
    if (typeof name !== 'string' || name.length > LONGEST_TEXT || !NAME.test(name)) return undefined
    const known = zones.get(name)
    if (known !== undefined) return known
    try {
      const zone = new TimeZone(name)
      if (zones.size === MOST_ZONES) zones.clear()
      zones.set(name, zone)
      return zone
    } catch {
      return undefined
    }
  }

  /** Returns the local time at a time. */
  localMs(timeMs: number): number {
    if (this.#isUtc) return timeMs
    // Text is read here, because the parts of a text take Intl three times as long.
    const numbers = this.#format.format(timeMs).match(NUMBERS) ?? []
    const fields = Object.fromEntries(this.#fields.map((field, i) => [field, Number(numbers[i])]))
    const { year, month, day, hour, minute, second } = fields as Record<Field, number>
    const secondsOfDay = (hour * 60 + minute) * 60 + second
    return dayMs((year - 1970) * 12 + month - 1, day - 1) + secondsOfDay * 1000 + timeMs - Math.floor(timeMs / 1000) * 1000
  }

  /**
   * Returns the first time at which the clocks show this local time or a later one. If clocks are set forward over it, that is the
   * time of the change. If clocks are set back and show it twice, it is the first of both.
   */
  firstTimeAt(localMs: number): number {
    const earlyMs = localMs - FURTHEST_MS
    const early = this.#offsetAt(earlyMs)
    const unchangedMs = localMs - early
    const late = this.#offsetAt(unchangedMs)
    if (late === early) return unchangedMs
    const changedMs = localMs - late
    return this.#offsetAt(changedMs) === late ? changedMs : this.#changeBetween(earlyMs, unchangedMs)
  }

  /** Returns the time of the change of clocks that comes after `fromMs`, and not after `toMs`. */
  #changeBetween(fromMs: number, toMs: number): number {
    const before = this.#offsetAt(fromMs)
    let [beforeMs, afterMs] = [fromMs, toMs]
    while (afterMs - beforeMs > 1) {
      const middleMs = Math.floor((beforeMs + afterMs) / 2)
      if (this.#offsetAt(middleMs) === before) beforeMs = middleMs
      else afterMs = middleMs
    }
    return afterMs
  }

  #offsetAt(timeMs: number): number {
    return this.localMs(timeMs) - timeMs
  }
}
