// Rows as aligned text.

import { plain } from './terminal.ts'

/** The first row is the heading. Numbers stand to the right, text to the left. */
export function table(rows: readonly (readonly (string | number)[])[]): string {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? count(cell) : plain(cell))))
  const isNumber = rows[0].map((_, column) => rows.length > 1 && rows.slice(1).every((row) => typeof row[column] === 'number'))
  const widths = rows[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)))
  const line = (row: readonly string[]) =>
    row.map((cell, column) => (isNumber[column] ? cell.padStart(widths[column]) : cell.padEnd(widths[column]))).join('  ')
  return cells.map((row) => line(row).trimEnd()).join('\n')
}

/** 1234567 → 1,234,567 */
export function count(value: number): string {
  return value.toLocaleString('en-US')
}

/** One of these, several of those: `1 policy`, `2 policies`. */
export function countOf(value: number, one: string, several = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : several}`
}

/** A wait as people say it: `41 s`, `3 min`, `never`. */
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
