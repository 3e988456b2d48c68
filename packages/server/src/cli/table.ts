// Formats rows as aligned text.

import { plain } from './terminal.ts'
import { cutTo, widthOf } from './text-width.ts'

const GAP = 2

/** Minimum width of a shortened first column. Below it, other columns are dropped. */
const LEAST_FIRST = 8

/**
 * The first row is the heading. Numbers are right-aligned, text is left-aligned. If the table is wider than `columns`, the first
 * column is shortened. If that is not enough, columns at the right are dropped.
 */
export function table(rows: readonly (readonly (string | number)[])[], columns = Number.POSITIVE_INFINITY): string {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? count(cell) : plain(cell))))
  const isNumber = rows[0].map((_, column) => rows.length > 1 && rows.slice(1).every((row) => typeof row[column] === 'number'))
  const widths = fitted(
    rows[0].map((_, column) => Math.max(...cells.map((row) => widthOf(row[column])))),
    columns,
  )
  const line = (row: readonly string[]) =>
    widths.map((width, column) => padded(cutTo(row[column], width), width, isNumber[column])).join(' '.repeat(GAP))
  return cells.map((row) => line(row).trimEnd()).join('\n')
}

/** Returns the widths of the columns that fit. */
function fitted(widths: readonly number[], columns: number): number[] {
  const [first, ...others] = widths
  const left = columns - others.reduce((sum, width) => sum + GAP + width, 0)
  if (left >= first) return [...widths]
  if (left >= LEAST_FIRST) return [left, ...others]
  return others.length === 0 ? [Math.max(0, Math.min(first, columns))] : fitted(widths.slice(0, -1), columns)
}

function padded(text: string, width: number, isNumber: boolean): string {
  const space = ' '.repeat(width - widthOf(text))
  return isNumber ? space + text : text + space
}

/** Formats 1234567 as 1,234,567. */
export function count(value: number): string {
  return value.toLocaleString('en-US')
}

/** Formats a number with its noun: `1 policy`, `2 policies`. */
export function countOf(value: number, one: string, several = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : several}`
}

/** Formats a duration: `41 s`, `3 min`, `never`. */
export function wait(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return 'never'
  if (ms < 1000) return `${ms} ms`
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.ceil(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.ceil(hours / 24)} d`
}
