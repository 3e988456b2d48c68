// The report of a simulation, as data. Text, JSON and HTML are made from it. Its names are those of the HTTP API.

import { COLUMN, type Column } from '../counting/client-table.ts'
import type { SmallestLimits } from '../counting/peak-usage.ts'
import type { LineCounts } from '../reading/read-logs.ts'
import { writtenRules } from '../replay/raised-limits.ts'
import type { Simulation } from '../replay/simulation.ts'

export interface ReportedRule {
  readonly name: string
  /** The rule in a few words. */
  readonly words: string
  readonly limit: number
  readonly denied: number
  readonly shadow_denied: number
  /** Clients that the rule denied, or would have denied in shadow mode. */
  readonly clients: number
  readonly first_denied: string | null
  readonly last_denied: string | null
  /** The smallest limits under which 99 %, 99.9 % and all of the clients stay untouched; null if that was not searched for. */
  readonly smallest_limits: SmallestLimits | null
}

export interface ReportedPolicy {
  readonly name: string
  readonly mode: string
  /** Requests for which the policy spoke: it denied them, or of all policies that apply it had the fewest units left. */
  readonly requests: number
  readonly undecided: number
  readonly rules: readonly ReportedRule[]
}

export interface ReportedClient {
  readonly client_id: string
  readonly requests: number
  readonly denied: number
  readonly shadow_denied: number
  readonly first_denied: string | null
  readonly denied_before: number
  readonly newly_denied: number
  readonly newly_allowed: number
}

export interface Change {
  readonly denied_before: number
  readonly newly_denied: number
  readonly newly_allowed: number
  readonly clients_newly_denied: number
  readonly clients_newly_allowed: number
}

export interface Series {
  readonly start: string | null
  readonly step_seconds: number
  readonly requests: readonly number[]
  readonly denied: readonly number[]
  readonly shadow_denied: readonly number[]
  readonly denied_before: readonly number[]
  readonly newly_denied: readonly number[]
  readonly newly_allowed: readonly number[]
}

export interface SimulationReport {
  readonly requests: number
  readonly first: string | null
  readonly last: string | null
  readonly denied: number
  readonly shadow_denied: number
  /** Requests under policies that can only be reserved. */
  readonly undecided: number
  /** Clients with counts of their own. */
  readonly clients: number
  readonly clients_denied: number
  /** Requests of the clients beyond the maximum, which are counted together. */
  readonly other_clients: {
    readonly requests: number
    readonly denied: number
    readonly top: readonly { readonly client_id: string; readonly denied_at_most: number; readonly error: number }[]
  }
  /** The difference to the policies in force; null if they were not compared. */
  readonly change: Change | null
  readonly policies: readonly ReportedPolicy[]
  /** The clients that are denied most; beside other policies, those that are newly denied most. */
  readonly top_clients: readonly ReportedClient[]
  readonly top_newly_allowed: readonly ReportedClient[]
  readonly series: Series
  readonly evictions: number
  readonly late: { readonly requests: number; readonly most_ms: number }
  /** Counts of the log; null if the requests do not come from one. */
  readonly log: LogReport | null
}

export interface LogReport {
  readonly form: string | null
  readonly files: number
  readonly lines: number
  readonly unreadable: number
  readonly too_long: number
  readonly outside: number
  readonly problems: LineCounts['problems']
  readonly cut_off: LineCounts['cutOff']
}

/** `top` is the number of clients in each list. */
export function reportOf(simulation: Simulation, top: number, lines?: LineCounts): SimulationReport {
  const { clients, clock, isCompared } = simulation
  const total = (column: Column): number => sum(simulation.series.read(COLUMN[column]))
  const listed = (column: Column): ReportedClient[] => clients.top(column, top).map((index) => reportedClient(simulation, index))
  return {
    requests: simulation.requests,
    first: timeText(clock.firstMs),
    last: simulation.requests === 0 ? null : timeText(clock.now()),
    denied: total('denied'),
    shadow_denied: total('shadowDenied'),
    undecided: sum([...simulation.policies.values()].map(({ undecided }) => undecided)),
    clients: clients.size,
    clients_denied: clients.clientsWith('denied'),
    other_clients: {
      requests: clients.others('requests'),
      denied: clients.others('denied'),
      top: clients.sketched(top).map(({ clientId, denied, error }) => ({ client_id: clientId, denied_at_most: denied, error })),
    },
    change: isCompared
      ? {
          denied_before: total('deniedBefore'),
          newly_denied: total('newlyDenied'),
          newly_allowed: total('newlyAllowed'),
          clients_newly_denied: clients.clientsWith('newlyDenied'),
          clients_newly_allowed: clients.clientsWith('newlyAllowed'),
        }
      : null,
    policies: reportedPolicies(simulation),
    top_clients: listed(isCompared ? 'newlyDenied' : 'denied'),
    top_newly_allowed: listed('newlyAllowed'),
    series: seriesOf(simulation),
    evictions: simulation.evictions,
    late: { requests: clock.late, most_ms: clock.latestMs },
    log: lines === undefined ? null : logReport(lines),
  }
}

function logReport({ form, files, lines, unreadable, tooLong, outside, problems, cutOff }: LineCounts): LogReport {
  return { form: form ?? null, files, lines, unreadable, too_long: tooLong, outside, problems, cut_off: cutOff }
}

/** Policies with requests, those with the most denials first. */
function reportedPolicies({ policies, proposed, peaks }: Simulation): ReportedPolicy[] {
  const reported = [...policies.values()].flatMap((counts) => {
    const policy = proposed.get(counts.name)
    if (policy === undefined) return []
    const words = new Map(writtenRules(policy).map((rule) => [rule.name, rule.words]))
    const limits = new Map(policy.rules.map(({ name, limit }) => [name, limit]))
    // A policy that denies everything denies by a rule that does not count.
    const rules = [...new Set([...limits.keys(), ...counts.rules.keys()])].map((name) => {
      const rule = counts.rule(name)
      return {
        ...{ name, words: words.get(name) ?? name, limit: limits.get(name) ?? 0 },
        ...{ denied: rule.denied, shadow_denied: rule.shadowDenied, clients: rule.clients.size },
        ...{ first_denied: timeText(rule.firstMs), last_denied: timeText(rule.lastMs) },
        smallest_limits: peaks?.smallestLimits(counts.name, name) ?? null,
      }
    })
    return [{ name: counts.name, mode: policy.mode, requests: counts.requests, undecided: counts.undecided, rules }]
  })
  const denials = ({ rules }: ReportedPolicy): number => sum(rules.map((rule) => rule.denied + rule.shadow_denied))
  return reported.sort((a, b) => denials(b) - denials(a) || b.requests - a.requests || (a.name < b.name ? -1 : 1))
}

function reportedClient({ clients }: Simulation, index: number): ReportedClient {
  return {
    client_id: clients.nameOf(index),
    requests: clients.count(index, 'requests'),
    denied: clients.count(index, 'denied'),
    shadow_denied: clients.count(index, 'shadowDenied'),
    first_denied: timeText(clients.firstDeniedMs(index)),
    denied_before: clients.count(index, 'deniedBefore'),
    newly_denied: clients.count(index, 'newlyDenied'),
    newly_allowed: clients.count(index, 'newlyAllowed'),
  }
}

function seriesOf({ series }: Simulation): Series {
  return {
    start: timeText(series.startMs),
    step_seconds: series.widthMs / 1000,
    requests: series.read(COLUMN.requests),
    denied: series.read(COLUMN.denied),
    shadow_denied: series.read(COLUMN.shadowDenied),
    denied_before: series.read(COLUMN.deniedBefore),
    newly_denied: series.read(COLUMN.newlyDenied),
    newly_allowed: series.read(COLUMN.newlyAllowed),
  }
}

function timeText(timeMs: number): string | null {
  return Number.isNaN(timeMs) ? null : new Date(timeMs).toISOString()
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
