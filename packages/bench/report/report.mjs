// The report of a bench: as text for the terminal, and as a section of a Markdown file.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { barTable, verdict } from './bars.mjs'
import { tableAsMarkdown, tableAsText } from './table.mjs'

/** @import { Bar } from './bars.mjs' */
/** @import { Table } from './table.mjs' */

/**
 * @typedef {object} Report
 * @property {string} bench name on the command line
 * @property {string} title
 * @property {string} command
 * @property {Date} date
 * @property {string[]} machine
 * @property {string} method description of the measurement, in a sentence or two
 * @property {Table[]} tables
 * @property {Bar[]} bars
 * @property {string[]} failures failed measurements
 */

/** @param {Report} report */
export function reportAsText({ machine, method, tables, bars, failures }) {
  const sections = [...tables, barTable(bars)].map(tableAsText)
  return ['', ...machine, method, ...failures, '', ...sections, verdict(bars)].join('\n')
}

/**
 * Writes the report between its two marks in the file. Replaces the last report, or appends a new section.
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
