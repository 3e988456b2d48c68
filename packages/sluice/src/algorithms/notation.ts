// Reads the values in a notation: '100/minute', '10 per 2 hours', '5/second; 100/minute', '10000/calendar month'. parse-rule.ts makes the
// rules.

import { SluiceError, show } from '../core/errors.ts'
import { PERIODS } from './calendar-window/period-start.ts'
import { nearest } from './nearest.ts'

/** The values of one rule in notation: `limit` units per `windowMs`, of which `burst` may come at once. */
export interface NotationParts {
  readonly algorithm: string
  readonly limit: number
  readonly windowMs: number
  /** The unit after `calendar`; undefined if the notation has no such word. Then `windowMs` is the unit's usual length. */
  readonly calendar: string | undefined
  /** Undefined if the notation has no burst. */
  readonly burst: number | undefined
  /** The text that was read, for error messages. */
  readonly text: string
}

const DEFAULT_ALGORITHM = 'fixed-window'
const CALENDAR_ALGORITHM = 'calendar-window'

export interface NotationUnit {
  /** Every spelling. The first is the shortest. */
  readonly names: readonly string[]
  readonly ms: number
}

const DAY_MS = 86_400_000

export const NOTATION_UNITS: readonly NotationUnit[] = [
  unit(['ms', 'millisecond'], 1),
  unit(['s', 'sec', 'second'], 1000),
  unit(['m', 'min', 'minute'], 60_000),
  unit(['h', 'hr', 'hour'], 3_600_000),
  unit(['d', 'day'], DAY_MS),
  unit(['w', 'week'], 7 * DAY_MS),
  // Other libraries use the same lengths: a month of thirty days, and a year of twelve such months.
  unit(['month'], 30 * DAY_MS),
  unit(['year'], 360 * DAY_MS),
]

/** Units that may follow `calendar`. Such a window has no fixed length. */
export const CALENDAR_UNITS: readonly string[] = PERIODS

/**
 * Matches: algorithm? limit ('/' or 'per') (count? unit or 'calendar' unit) ('burst' number)?. Invariant: spaces have been reduced to
 * one, so matching takes linear time.
 */
const SHAPE = /^(?:([a-z][a-z-]*) )?(\d+)(?: ?\/ ?| per )(?:(\d+) ?|(calendar) )?([a-z]+)(?: burst (\d+))?$/

const MOST_CHARACTERS = 1000

/** Returns the values of each rule in a notation. `;` `,` or `|` separates rules. Throws ERR_NOTATION if it cannot be read. */
export function readNotation(notation: string): readonly NotationParts[] {
  if (typeof notation !== 'string' || notation.length > MOST_CHARACTERS) {
    throw new SluiceError('ERR_NOTATION', `a rule in notation is a string of up to 1,000 characters, got ${show(notation)}`)
  }
  return notation.split(/[;,|]/).map((text) => readOne(text.trim()))
}

function readOne(text: string): NotationParts {
  const match = SHAPE.exec(text.toLowerCase().replace(/\s+/g, ' '))
  if (match === null) {
    throw new SluiceError('ERR_NOTATION', `a rule in notation is such as '100/minute' or '10 per 2 hours', got ${show(text)}`)
  }
  const isCalendar = match[4] !== undefined
  const [, algorithm = isCalendar ? CALENDAR_ALGORITHM : DEFAULT_ALGORITHM, limit, count = '1', , name, burst] = match
  const unit = NOTATION_UNITS.find(({ names }) => names.includes(name))
  const known = isCalendar ? CALENDAR_UNITS : NOTATION_UNITS.flatMap(({ names }) => names)
  if (unit === undefined || !known.includes(name)) throw unknownWord('unit', name, known, text)
  return {
    algorithm,
    limit: Number(limit),
    windowMs: Number(count) * unit.ms,
    calendar: isCalendar ? name : undefined,
    burst: burst === undefined ? undefined : Number(burst),
    text,
  }
}

/** Makes the error about an unknown algorithm or unit. It suggests the nearest known word. */
export function unknownWord(option: 'algorithm' | 'unit', word: string, known: readonly string[], text: string): SluiceError {
  const near = nearest(word, known)
  const hint = near === undefined ? `there is ${known.join(', ')}` : `did you mean ${near}?`
  return new SluiceError('ERR_NOTATION', `no ${option} is called ${show(word)}, in ${show(text)}: ${hint}`, {
    option,
    value: word,
  })
}

/** Makes a unit. Adds the plurals of its names. */
function unit(names: readonly string[], ms: number): NotationUnit {
  return { names: names.flatMap((name) => (name.length > 1 && name !== 'ms' ? [name, `${name}s`] : [name])), ms }
}
