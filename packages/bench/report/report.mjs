// A bench's report: once for the terminal, once as a section of a markdown file.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { barTable, verdict } from './bars.mjs'
import { tableAsMarkdown, tableAsText } from './table.mjs'

/** @import { Bar } from './bars.mjs' */
/** @import { Table } from './table.mjs' */

/**
 * @typedef {object} Report
 * @property {string} bench its name, as one types it
 * @property {string} title
 * @property {string} command
 * @property {Date} date
 * @property {string[]} machine
 * @property {string} method how the numbers were taken, in a sentence or two
 * @property {Table[]} tables
 * @property {Bar[]} bars
 * @property {string[]} failures measurements that could not be made
 */

/** @param {Report} report */
export function reportAsText({ machine, method, tables, bars, failures }) {
  const sections = [...tables, barTable(bars)].map(tableAsText)
  return ['', ...machine, method, ...failures, '', ...sections, verdict(bars)].join('\n')
}

/**
 * Puts the report between its two marks in the file: in place of the last one, or at the end.
 * @param {string} path
 * @param {Report} report
 */
export function writeMarkdownSection(path, report) {
  const opening = `<!-- bench ${report.bench}: written by the command below -->`
  const closing = `<!-- end of bench ${report.bench} -->`
  const section = `${opening}\n\n${reportAsMarkdown(report)}\n\n${closing}`
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const start = text.indexOf(opening)
  const end = text.indexOf(closing)
  const isThere = start >= 0 && end > start
  const before = isThere ? text.slice(0, start) : text.trimEnd().concat(text === '' ? '' : '\n\n')
  const after = isThere ? text.slice(end + closing.length) : '\n'
  writeFileSync(path, before + section + after)
}

/** @param {Report} report */
function reportAsMarkdown({ title, command, date, machine, method, tables, bars, failures }) {
  const facts = [`\`${command}\`, ${date.toISOString().slice(0, 10)}`, ...machine, ...failures].map((fact) => `- ${fact}`)
  const sections = [...tables, barTable(bars)].map(tableAsMarkdown)
  return [`## ${title}`, '', ...facts, '', method, '', ...sections, verdict(bars)].join('\n')
}
