// The report of a simulation as text.
// Invariant: no line of a table is wider than `columns`.

import { percent, shortTime } from '../simulate/report/numbers.ts'
import type { ReportedClient, SimulationReport } from '../simulate/report/report.ts'
import { warningsOf } from '../simulate/report/warnings.ts'
import { sparkline } from './sparkline.ts'
import { count, countOf, table } from './table.ts'

/** Maximum number of policies in the tables. JSON has all of them. */
const MOST_POLICIES = 20

const SERIES_NAME = 10

/** Returns the lines of a report. `against` is the name of the policies that it is compared with. */
export function simulationText(report: SimulationReport, columns: number, against: string | undefined): string {
  const parts = [
    summary(report, against),
    ...(report.requests === 0 ? [] : [whenText(report, columns), policyText(report, columns)]),
    ...clientTexts(report, columns),
    limitsText(report, columns),
    warningsOf(report)
      .map((warning) => `Note: ${warning}`)
      .join('\n'),
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

function summary(report: SimulationReport, against: string | undefined): string {
  const {
    requests,
    clients,
    denied,
    shadow_denied: shadow,
    clients_denied: clientsDenied,
    change,
    other_clients: others,
  } = report
  if (requests === 0) return 'There are no requests to replay.'
  const who = others.requests === 0 ? countOf(clients, 'client') : `more than ${countOf(clients, 'client')}`
  const lines = [
    `${countOf(requests, 'request')} of ${who}, ${shortTime(report.first)} to ${shortTime(report.last)} UTC.`,
    denied === 0
      ? 'None would be denied.'
      : `${count(denied)} (${percent(denied, requests)}) would be denied, to ${countOf(clientsDenied, 'client')} (${percent(clientsDenied, clients)}).`,
  ]
  if (shadow > 0) lines.push(`${count(shadow)} more would be denied if policies in shadow mode enforced.`)
  if (change !== null) {
    lines.push(
      `Beside ${against}: ${count(change.newly_denied)} newly denied (${countOf(change.clients_newly_denied, 'client')}), ${count(change.newly_allowed)} newly allowed (${countOf(change.clients_newly_allowed, 'client')}); ${count(change.denied_before)} were denied before.`,
    )
  }
  return lines.join('\n')
}

function whenText({ series, change }: SimulationReport, columns: number): string {
  const line = (name: string, counts: readonly number[]): string =>
    `${name.padEnd(SERIES_NAME)}${sparkline(joined(counts, columns - SERIES_NAME))}`.trimEnd()
  const rows = [line('requests', series.requests), line('denied', series.denied)]
  if (series.shadow_denied.some((n) => n > 0)) rows.push(line('shadow', series.shadow_denied))
  if (change !== null) rows.push(line('before', series.denied_before))
  return rows.join('\n')
}

/** Joins neighbours until the series has at most `most` numbers. */
function joined(counts: readonly number[], most: number): readonly number[] {
  const width = Math.max(1, Math.ceil(counts.length / Math.max(1, most)))
  if (width === 1) return counts
  return Array.from({ length: Math.ceil(counts.length / width) }, (_, i) =>
    counts.slice(i * width, (i + 1) * width).reduce((sum, each) => sum + each, 0),
  )
}

function policyText({ policies }: SimulationReport, columns: number): string {
  const rows = policies
    .slice(0, MOST_POLICIES)
    .flatMap(({ name, mode, requests, rules }) =>
      rules.map((rule, i) => [
        `${name}${mode === 'enforce' ? '' : ` (${mode})`}: ${rule.words}`,
        i === 0 ? count(requests) : '',
        rule.denied + rule.shadow_denied,
        rule.clients,
        shortTime(rule.first_denied),
      ]),
    )
  const left = policies.length - MOST_POLICIES
  const more = left > 0 ? `\nand ${countOf(left, 'policy', 'policies')} more; --json has all of them` : ''
  return table([['policy and rule', 'requests', 'denied', 'clients', 'first denied'], ...rows], columns) + more
}

function clientTexts(report: SimulationReport, columns: number): string[] {
  const { change, top_clients: top, top_newly_allowed: allowed, other_clients: others } = report
  const texts: string[] = []
  if (change === null && top.length > 0) {
    const rows = top.map((each) => [each.client_id, each.requests, each.denied, share(each), shortTime(each.first_denied)])
    texts.push(table([['client, denied most', 'requests', 'denied', 'share', 'first denied'], ...rows], columns))
  }
  if (change !== null && top.length > 0) {
    const rows = top.map((each) => [each.client_id, each.requests, each.newly_denied, each.denied, each.denied_before])
    texts.push(table([['client, newly denied most', 'requests', 'newly', 'denied', 'before'], ...rows], columns))
  }
  if (allowed.length > 0) {
    const rows = allowed.map((each) => [each.client_id, each.requests, each.newly_allowed, each.denied, each.denied_before])
    texts.push(table([['client, newly allowed most', 'requests', 'newly', 'denied', 'before'], ...rows], columns))
  }
  if (others.top.length > 0) {
    const rows = others.top.map(({ client_id, denied_at_most: most, error }) => [client_id, most, error])
    texts.push(table([['other client', 'denied at most', 'too many by at most'], ...rows], columns))
  }
  return texts
}

function limitsText({ policies }: SimulationReport, columns: number): string {
  const rows = policies
    .slice(0, MOST_POLICIES)
    .flatMap(({ name, rules }) =>
      rules.flatMap(({ words, limit, smallest_limits: smallest }) =>
        smallest === null ? [] : [[`${name}: ${words}`, limit, smallest.p99, smallest.p999, smallest.all]],
      ),
    )
  if (rows.length === 0) return ''
  const heading = ['smallest limit that leaves untouched', 'now', '99 %', '99.9 %', 'all clients']
  return table([heading, ...rows], columns)
}

function share({ denied, requests }: ReportedClient): string {
  return percent(denied, requests)
}
