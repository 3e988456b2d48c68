// Parsers for arguments that are not plain text.

import { InvalidArgumentError } from 'commander'
import { isDay } from '../policies/policy-time.ts'

const DIGITS = /^\d{1,16}$/

export function wholeNumber(least: number, most: number = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = DIGITS.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`)
  }
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Parses `90d` to milliseconds. */
export function durationMs(text: string): number {
  const [, digits, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  if (digits !== undefined) return Number(digits) * UNITS_MS[unit]
  throw new InvalidArgumentError("It must be a duration such as '30s', '15m', '12h' or '90d'.")
}

/** A day, and a time of day. `Date` reads other texts too: it takes `tomorrow 2050` for the first day of 2050. */
const TIME = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?)?$/

/** Parses a future time: an absolute one, or a duration from now. */
export function timeFrom(nowMs: () => number): (text: string) => Date {
  return (text) => {
    const time = /^\d+[smhd]$/.test(text) ? new Date(nowMs() + durationMs(text)) : absoluteTime(text)
    if (time.getTime() > nowMs()) return time
    if (!Number.isNaN(time.getTime())) throw new InvalidArgumentError('It must be in the future.')
    throw new InvalidArgumentError("It must be a time such as 2027-01-31T00:00:00Z, or a duration from now such as '90d'.")
  }
}

function absoluteTime(text: string): Date {
  const day = TIME.exec(text)?.[1]
  return new Date(day === undefined || !isDay(day) ? Number.NaN : text)
}

/** Collects attributes such as `plan=free`. */
export function attribute(text: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It must be a name and a value, such as plan=free.')
  const name = text.slice(0, at)
  if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`It names ${name} a second time.`)
  return { ...before, [name]: text.slice(at + 1) }
}

/** Collects the values of an option that may be repeated. */
export function collect(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), text]
}
