// Text in HTML. Names come from logs, so anybody may have written them.
// Invariant: no text can become markup, a control character, or change the direction of the text around it.

import { grouped } from './numbers.ts'

const STEERING = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

export function html(text: string): string {
  return text.replace(STEERING, '·').replace(/[&<>"']/g, (sign) => ENTITIES[sign])
}

/** A cell of a table: a number, a text, a time that is not broken into lines, or markup that was made here. */
export type Cell = number | string | { readonly time: string } | { readonly markup: string }

/** Returns a table. Columns whose cells are all numbers are aligned at the right. */
export function htmlTable(label: string, heading: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const isNumber = heading.map((_, i) => rows.every((row) => typeof row[i] === 'number' || row[i] === ''))
  const attribute = (i: number): string => (isNumber[i] ? ' class="number"' : '')
  const head = heading.map((text, i) => `<th scope="col"${attribute(i)}>${html(text)}</th>`).join('')
  const body = rows.map((row) => `<tr>${row.map((cell, i) => `<td${attribute(i)}>${cellText(cell)}</td>`).join('')}</tr>`)
  return `<div class="wide" role="region" aria-label="${html(label)}" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>`
}

function cellText(cell: Cell): string {
  if (typeof cell === 'object') return 'time' in cell ? `<span class="time">${html(cell.time)}</span>` : cell.markup
  return typeof cell === 'number' ? grouped(cell) : `<bdi>${html(cell)}</bdi>`
}
