// The report of a simulation as one HTML page with pictures. It loads nothing and runs no script.
// Invariant: the Content-Security-Policy of the page allows its one style and nothing else.

import { createHash } from 'node:crypto'
import { STYLE } from './html-style.ts'
import { type Cell, html, htmlTable } from './html-text.ts'
import { grouped, lengthOf, numberOf, percent, shortTime, timeRange } from './numbers.ts'
import type { ReportedClient, SimulationReport } from './report.ts'
import { summaryOf } from './summary.ts'
import { type ChartSeries, columnChart, shareBar } from './svg-chart.ts'
import { warningsOf } from './warnings.ts'

export interface ReportTitles {
  /** Name of the proposed policies. */
  readonly proposed: string
  /** Name of the policies that they are compared with. */
  readonly against: string | undefined
}

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')
const SECURITY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'`

/** Maximum number of policies in the tables. */
const MOST_POLICIES = 200

export function htmlReport(report: SimulationReport, { proposed, against }: ReportTitles): string {
  const beside = against === undefined ? '' : ` beside ${against}`
  const title = `Simulation of ${proposed}${beside}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${SECURITY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${html(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${html(title)}</h1>
<p class="quiet">${html(`${numberOf(report.requests, 'request')}, ${shortTime(report.first)} to ${shortTime(report.last)} UTC. Counters start empty.`)}</p>
<p class="lead">${html(summaryOf(report, against).join(' ').replaceAll(' %', '\u00a0%'))}</p>
${[facts(report), pictures(report), policies(report), clients(report), limits(report), notes(report)].filter((part) => part !== '').join('\n')}
</main>
</body>
</html>
`
}

function facts(report: SimulationReport): string {
  const { requests, denied, clients, clients_denied: clientsDenied, shadow_denied: shadow, change } = report
  const entries: [number, string][] = [
    [denied, `of ${grouped(requests)} requests denied (${percent(denied, requests)})`],
    [clientsDenied, `of ${numberOf(clients, 'client')} denied at least once (${percent(clientsDenied, clients)})`],
  ]
  if (shadow > 0) entries.push([shadow, 'more requests denied if policies in shadow mode enforced'])
  if (change !== null) {
    entries.push([change.newly_denied, `requests newly denied, of ${numberOf(change.clients_newly_denied, 'client')}`])
    entries.push([change.newly_allowed, `requests newly allowed, of ${numberOf(change.clients_newly_allowed, 'client')}`])
  }
  return `<ul class="facts">${entries.map(([value, text]) => `<li><b>${grouped(value)}</b> ${html(text)}</li>`).join('')}</ul>`
}

function pictures({ series, change, shadow_denied: shadow }: SimulationReport): string {
  if (series.start === null) return ''
  const denied = { name: 'denied', tone: 'deny', counts: series.denied }
  const charts: { heading: string; drawn: ChartSeries[]; isSideBySide?: boolean }[] = [
    { heading: 'Requests over time', drawn: [{ name: 'requests', tone: 'all', counts: series.requests }, denied] },
  ]
  if (change !== null) {
    const before = { name: 'denied before', tone: 'before', counts: series.denied_before }
    charts.push({ heading: 'Denials before and after', drawn: [before, { ...denied, name: 'denied after' }], isSideBySide: true })
  } else if (series.denied.some((count) => count > 0)) {
    charts.push({ heading: 'Denials over time', drawn: [denied] })
  }
  if (shadow > 0) {
    charts.push({
      heading: 'Denials of policies in shadow mode',
      drawn: [{ name: 'denied in shadow mode', tone: 'shadow', counts: series.shadow_denied }],
    })
  }
  const startMs = Date.parse(series.start)
  return charts
    .map(({ heading, drawn, isSideBySide = false }) => {
      const keys = drawn.map(({ name, tone }) => `<span class="key ${tone}"></span>${html(name)}`).join('')
      const most = Math.max(0, ...drawn.flatMap(({ counts }) => counts))
      const scale = `The highest column is ${numberOf(most, 'request')} in ${lengthOf(series.step_seconds)}.`
      const chart = columnChart({ title: heading, startMs, stepSeconds: series.step_seconds, series: drawn, isSideBySide })
      return `<h2>${heading}</h2>\n<p class="quiet">${scale}${keys}</p>\n${chart}`
    })
    .join('\n')
}

function policies({ policies }: SimulationReport): string {
  const rows = policies.slice(0, MOST_POLICIES).flatMap(({ name, mode, requests, rules }) =>
    rules.map((rule, i): Cell[] => {
      const denied = rule.denied + rule.shadow_denied
      const bar = { markup: shareBar(denied, requests, rule.denied > 0 ? 'deny' : 'shadow') }
      const times = { time: timeRange(rule.first_denied, rule.last_denied) }
      return [i === 0 ? name : '', mode, rule.words, i === 0 ? requests : '', denied, bar, rule.clients, times]
    }),
  )
  if (rows.length === 0) return ''
  const heading = ['policy', 'mode', 'rule', 'requests', 'denied', 'share', 'clients', 'first and last denial']
  return section('By policy and rule', heading, rows)
}

function clients(report: SimulationReport): string {
  const { change, top_clients: top, top_newly_allowed: allowed } = report
  const heading = ['client', 'requests', 'denied', 'share', 'first denied']
  const row = (each: ReportedClient): Cell[] => [
    ...[each.client_id, each.requests, each.denied, { markup: shareBar(each.denied, each.requests, 'deny') }],
    { time: shortTime(each.first_denied) },
  ]
  const parts: string[] = []
  if (change === null && top.length > 0) parts.push(section('Clients that are denied most', heading, top.map(row)))
  if (change !== null) {
    const wider = [...heading, 'newly denied', 'newly allowed', 'denied before']
    const rowOf = (each: ReportedClient): Cell[] => [...row(each), each.newly_denied, each.newly_allowed, each.denied_before]
    if (top.length > 0) parts.push(section('Clients that are newly denied most', wider, top.map(rowOf)))
    if (allowed.length > 0) parts.push(section('Clients that are newly allowed most', wider, allowed.map(rowOf)))
  }
  return parts.join('\n')
}

function limits({ policies }: SimulationReport): string {
  const rows = policies
    .slice(0, MOST_POLICIES)
    .flatMap(({ name, rules }) =>
      rules.flatMap(({ words, limit, smallest_limits: smallest }): Cell[][] =>
        smallest === null ? [] : [[name, words, limit, smallest.clients, smallest.p99, smallest.p999, smallest.all]],
      ),
    )
  if (rows.length === 0) return ''
  const heading = ['policy', 'rule', 'limit', 'clients', 'for 99 %', 'for 99.9 %', 'for all clients']
  const about =
    'The smallest limit of each rule alone under which this share of its clients is never denied. A limit above it is higher than these clients need. The rate of a bucket stays.'
  return section('Smallest limits', heading, rows, `<p class="quiet">${about}</p>\n`)
}

function section(title: string, heading: readonly string[], rows: readonly (readonly Cell[])[], about = ''): string {
  return `<h2>${title}</h2>\n${about}${htmlTable(title, heading, rows)}`
}

function notes(report: SimulationReport): string {
  const warnings = warningsOf(report)
  if (warnings.length === 0) return ''
  return `<h2>Notes</h2>\n<ul class="notes">${warnings.map((text) => `<li>${text.split('\n').map(html).join('\n')}</li>`).join('')}</ul>`
}
