// Replays requests under proposed policies, and beside them under the ones in force, and counts the difference.
// Invariant: memory is bounded by `maxClients`, `maxKeys` and the number of policies, whatever the log has.

import type { RuleStatus } from 'sluice'
import type { CheckResult } from '../../decide/decider.ts'
import type { Policy } from '../../policies/policy.ts'
import type { PolicyBook } from '../../policies/policy-book.ts'
import type { CheckForm } from '../../stats/stats.ts'
import { ClientTable, COLUMN, OTHERS } from '../counting/client-table.ts'
import { PeakUsage } from '../counting/peak-usage.ts'
import { PolicyCounts } from '../counting/rule-counts.ts'
import { TimeSeries } from '../counting/time-series.ts'
import type { LogEntry } from '../forms/entry-reader.ts'
import type { LogClock } from './log-clock.ts'
import { type RaisedBook, raisedBook } from './policy-books.ts'
import { NO_LIMIT, PolicyReplay, type Replayed, ruleIn } from './policy-replay.ts'

export interface SimulationOptions {
  /** The clock that follows the log. Both books expire their policies by it. */
  readonly clock: LogClock
  readonly proposed: PolicyBook
  /** The policies to compare with. */
  readonly current?: PolicyBook | undefined
  /** Maximum number of clients with counts of their own. */
  readonly maxClients?: number
  /** Maximum number of counters of each set of policies. */
  readonly maxKeys?: number
  /** True to find the smallest limits, or the names of the policies to find them for. Costs a third replay of each request. */
  readonly findsLimits?: boolean | ReadonlySet<string>
  /** True to decide as `/v1/authorize` does. */
  readonly asPaths?: boolean
  /** Called with every decision under the proposed policies; undefined if it was not decided. */
  readonly onDecision?: (entry: LogEntry, result: CheckResult | undefined) => void
}

export const DEFAULT_MAX_CLIENTS = 100_000
export const DEFAULT_MAX_KEYS = 1_000_000

/** Requests between two sweeps. */
const SWEEP_EVERY = 65_536

export class Simulation {
  readonly clock: LogClock
  readonly clients: ClientTable
  readonly series = new TimeSeries(Object.keys(COLUMN).length)
  readonly peaks: PeakUsage | undefined
  readonly policies = new Map<string, PolicyCounts>()
  /** The proposed policies by name, including those that expire in the time of the log. */
  readonly proposed: ReadonlyMap<string, Policy>
  readonly isCompared: boolean
  readonly #book: PolicyBook
  /** Names of the rules for which smallest limits can be found, by policy. */
  readonly #raised: RaisedBook['rules']
  readonly #proposed: PolicyReplay
  readonly #current: PolicyReplay | undefined
  readonly #unlimited: PolicyReplay | undefined
  readonly #onDecision: SimulationOptions['onDecision']
  #requests = 0

  constructor(options: SimulationOptions) {
    const { proposed, current, maxClients = DEFAULT_MAX_CLIENTS, maxKeys = DEFAULT_MAX_KEYS } = options
    const { findsLimits = true, asPaths = false } = options
    const { clock } = options
    const replay = (policies: PolicyBook): PolicyReplay => new PolicyReplay({ policies, clock, maxKeys, asPaths })
    const policies = proposed.all()
    const raised = findsLimits === false ? undefined : raisedBook(policies, findsLimits, clock)
    this.clock = clock
    this.clients = new ClientTable(maxClients)
    this.proposed = new Map(policies.map((policy) => [policy.name, policy]))
    this.isCompared = current !== undefined
    this.#book = proposed
    this.#proposed = replay(proposed)
    this.#current = current && replay(current)
    this.#unlimited = raised && replay(raised.book)
    this.#raised = raised?.rules ?? new Map()
    this.peaks = raised && new PeakUsage()
    this.#onDecision = options.onDecision
  }

  /** Number of requests that were replayed. */
  get requests(): number {
    return this.#requests
  }

  /** Counters that were evicted, over all sets of policies. */
  get evictions(): number {
    return [this.#proposed, this.#current, this.#unlimited].reduce((sum, replay) => sum + (replay?.evictions ?? 0), 0)
  }

  /** Decides one request, and counts it. The default of `form` is that of the option `asPaths`. */
  replay(entry: LogEntry, form?: CheckForm): void {
    const { clients, series } = this
    const nowMs = this.clock.follow(entry.timeMs)
    const index = clients.place(entry.clientId)
    // The name in the table is a text of its own, whose hash is known.
    if (index !== OTHERS) entry.clientId = clients.nameOf(index)
    const place = series.placeOf(nowMs)
    this.#requests += 1
    if (this.#requests % SWEEP_EVERY === 0) this.#sweep()
    this.#count(index, place, COLUMN.requests)
    const result = this.#proposed.decide(entry, form)
    if (result !== NO_LIMIT) this.#onDecision?.(entry, result)
    if (result === undefined) this.#policyCounts(this.#mostSpecific(entry)).undecided += 1
    else if (result !== NO_LIMIT) this.#countResult(result, index, place, entry.clientId)
    if (this.#current !== undefined) this.#compare(result, this.#current.decide(entry, form), index, place)
    if (this.#unlimited !== undefined) this.#notePeaks(entry, this.#unlimited.decide(entry, form), index)
  }

  close(): void {
    for (const replay of [this.#proposed, this.#current, this.#unlimited]) replay?.close()
  }

  #countResult({ allowed, isShadowDenied }: CheckResult, index: number, place: number, clientId: string): void {
    const { spoken } = this.#proposed
    const counts = this.#policyCounts(spoken.policy)
    counts.requests += 1
    if (allowed && !isShadowDenied) return
    const nowMs = this.clock.now()
    const isShadow = allowed
    counts.rule(spoken.rule).deny(index, nowMs, isShadow)
    this.#count(index, place, isShadow ? COLUMN.shadowDenied : COLUMN.denied)
    if (!isShadow) this.clients.noteDenial(index, clientId, nowMs)
  }

  /** A request that one of the two cannot decide is not compared. */
  #compare(after: Replayed, before: Replayed, index: number, place: number): void {
    if (after === undefined || before === undefined) return
    const [isAllowed, wasAllowed] = [isAllowedBy(after), isAllowedBy(before)]
    if (!wasAllowed) this.#count(index, place, COLUMN.deniedBefore)
    if (wasAllowed === isAllowed) return
    this.#count(index, place, wasAllowed ? COLUMN.newlyDenied : COLUMN.newlyAllowed)
  }

  /** `result` is the decision under raised limits. Its rules may be those of several policies. */
  #notePeaks(entry: LogEntry, result: Replayed, index: number): void {
    if (result === undefined || result === NO_LIMIT || this.peaks === undefined || !result.allowed) return
    const { policy, decision } = result
    const { rules } = decision
    if (rules.length === 1) return this.#notePeak(policy.name, rules[0], index)
    let mostSpecific: string | undefined
    for (const rule of rules) {
      const slash = rule.name.indexOf('/')
      if (slash < 0) mostSpecific ??= this.#mostSpecific(entry)
      this.#notePeak(slash < 0 ? (mostSpecific as string) : rule.name.slice(0, slash), rule, index)
    }
  }

  #notePeak(policy: string, { name, limit, remaining }: RuleStatus, index: number): void {
    const rule = ruleIn(name)
    if (this.#raised.get(policy)?.has(rule)) this.peaks?.note(policy, rule, index, limit - remaining)
  }

  #mostSpecific({ clientId, route, attributes }: LogEntry): string {
    return this.#book.find(clientId, route, attributes).name
  }

  #count(index: number, place: number, column: number): void {
    this.clients.add(index, column)
    this.series.add(place, column)
  }

  #policyCounts(name: string): PolicyCounts {
    let counts = this.policies.get(name)
    if (counts === undefined) {
      counts = new PolicyCounts(name)
      this.policies.set(name, counts)
    }
    return counts
  }

  #sweep(): void {
    for (const replay of [this.#proposed, this.#current, this.#unlimited]) replay?.sweep()
  }
}

function isAllowedBy(result: CheckResult | typeof NO_LIMIT): boolean {
  return result === NO_LIMIT || result.allowed
}
