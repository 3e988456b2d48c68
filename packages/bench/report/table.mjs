// A table as text and as Markdown. Columns of numbers are aligned right, others left.

/** @typedef {{ title: string, note?: string, columns: string[], rows: string[][] }} Table */

/** @param {Table} table */
export function tableAsText({ title, note, columns, rows }) {
  const lines = [columns, ...rows]
  const widths = columns.map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  const isNumeric = numericColumns(columns, rows)
  const pad = (/** @type {string} */ cell, /** @type {number} */ column) =>
    isNumeric[column] ? cell.padStart(widths[column]) : cell.padEnd(widths[column])
  const [head, ...body] = lines.map((line) => line.map(pad).join('   ').trimEnd())
  const ruler = '-'.repeat(Math.max(head.length, ...body.map((line) => line.length)))
  return [title, ...(note ? [note] : []), '', head, ruler, ...body, ''].join('\n')
}

/** @param {Table} table */
export function tableAsMarkdown({ title, note, columns, rows }) {
  const ruler = numericColumns(columns, rows).map((isNumeric) => (isNumeric ? '---:' : '---'))
  const lines = [columns, ruler, ...rows].map(markdownLine)
  return [`### ${title}`, '', ...(note ? [note, ''] : []), ...lines, ''].join('\n')
}

/** @param {string[]} cells */
function markdownLine(cells) {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('<', '&lt;')).join(' | ')} |`
}

/**
 * @param {string[]} columns
 * @param {string[][]} rows
 */
function numericColumns(columns, rows) {
  return columns.map((_, column) => column > 0 && rows.every((row) => /^\d|^failed$/.test(row[column])))
}
