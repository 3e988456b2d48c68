// Replays requests under proposed policies, and beside them under the ones in force, and counts the difference.
// Invariant: memory is bounded by `maxClients`, `maxKeys` and the number of policies, whatever the log has.

import type { RuleStatus } from 'sluice'
import type { CheckResult } from '../../decide/decider.ts'
import type { Policy } from '../../policies/policy.ts'
import type { PolicyBook } from '../../policies/policy-book.ts'
import type { CheckForm } from '../../stats/stats.ts'
import { ClientTable, COLUMN, OTHERS } from '../counting/client-table.ts'
import { type Peaks, PeakUsage } from '../counting/peak-usage.ts'
import { PolicyCounts } from '../counting/rule-counts.ts'
import { TimeSeries } from '../counting/time-series.ts'
import { detached, type LogEntry } from '../forms/entry-reader.ts'
import { NO_TAG } from '../forms/text-cache.ts'
import type { LogClock } from './log-clock.ts'
import { type RaisedBook, raisedBook } from './policy-books.ts'
import { OUTCOME, type Outcome, PolicyReplay, ruleIn } from './policy-replay.ts'

export interface SimulationOptions {
  /** The clock that follows the log. Both books expire their policies by it. */
  readonly clock: LogClock
  readonly proposed: PolicyBook
  /** The policies to compare with. */
  readonly current?: PolicyBook | undefined
  /** Maximum number of clients with counts of their own. */
  readonly maxClients?: number
  /** Maximum number of counters of each set of policies, in its store, and in its counter arrays. */
  readonly maxKeys?: number
  /** True to find the smallest limits, or the names of the policies to find them for. Costs a third replay of each request. */
  readonly findsLimits?: boolean | ReadonlySet<string>
  /** True to decide as `/v1/authorize` does. */
  readonly asPaths?: boolean
  /**
   * True if `replay` gets forms. Requests of several forms may count under one key, so all of them are decided by the decider, and none
   * in a counter array.
   */
  readonly formsVary?: boolean
  /** Called with every decision under the proposed policies; undefined if it was not decided. */
  readonly onDecision?: ((entry: LogEntry, result: CheckResult | undefined) => void) | undefined
}

export const DEFAULT_MAX_CLIENTS = 100_000
export const DEFAULT_MAX_KEYS = 1_000_000

/** Maximum number of routes with a number. Requests of other routes are decided without a counter array. */
const MOST_ROUTES = 20_000
const NO_NUMBER = -1

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
  readonly #proposed: PolicyReplay<PolicyCounts>
  readonly #current: PolicyReplay<undefined> | undefined
  readonly #unlimited: PolicyReplay<Peaks | undefined> | undefined
  readonly #onDecision: SimulationOptions['onDecision']
  /** Numbers of routes. */
  readonly #routes = new Map<string, number>()
  /** The numbers of the present request. The object is reused. */
  readonly #numbers = { client: OTHERS, route: NO_NUMBER }
  #requests = 0

  constructor(options: SimulationOptions) {
    const { proposed, current, maxClients = DEFAULT_MAX_CLIENTS, maxKeys = DEFAULT_MAX_KEYS } = options
    const { findsLimits = true, asPaths = false, formsVary = false } = options
    const { clock } = options
    const mostArrays = formsVary ? 0 : Math.floor(maxKeys / maxClients)
    const replay = <N>(policies: PolicyBook, note: (policy: Policy) => N): PolicyReplay<N> =>
      new PolicyReplay({ policies, clock, maxKeys, asPaths, mostArrays, note })
    const policies = proposed.all()
    const raised = findsLimits === false ? undefined : raisedBook(policies, findsLimits, clock)
    this.clock = clock
    this.clients = new ClientTable(maxClients)
    this.proposed = new Map(policies.map((policy) => [policy.name, policy]))
    this.isCompared = current !== undefined
    this.#book = proposed
    this.#raised = raised?.rules ?? new Map()
    this.peaks = raised && new PeakUsage()
    this.#proposed = replay(proposed, ({ name }) => this.#policyCounts(name))
    this.#current = current && replay(current, () => undefined)
    this.#unlimited = raised && replay(raised.book, ({ name, rules }) => this.#peaksOf(name, rules[0].name))
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
    const nowMs = this.clock.follow(entry.timeMs)
    const numbers = this.#numbers
    const client = this.#numberOfClient(entry)
    numbers.client = client
    // The receiver of decisions wants those of the decider.
    numbers.route = this.#onDecision === undefined ? this.#numberOfRoute(entry) : NO_NUMBER
    const place = this.series.placeOf(nowMs)
    this.#requests += 1
    if (this.#requests % SWEEP_EVERY === 0) this.#sweep()
    this.#count(client, place, COLUMN.requests)
    const outcome = this.#proposed.decide(entry, numbers, form)
    if (outcome !== OUTCOME.noLimit) this.#onDecision?.(entry, this.#proposed.result)
    if (outcome === OUTCOME.undecided) this.#policyCounts(this.#mostSpecific(entry)).undecided += 1
    else if (outcome !== OUTCOME.noLimit) this.#countOutcome(outcome, client, place, entry.clientId)
    if (this.#current !== undefined) this.#compare(outcome, this.#current.decide(entry, numbers, form), client, place)
    if (this.#unlimited !== undefined) this.#notePeaks(entry, this.#unlimited, form)
  }

  close(): void {
    for (const replay of [this.#proposed, this.#current, this.#unlimited]) replay?.close()
  }

  /** Returns the number of a client. It is also its index in the table. */
  #numberOfClient(entry: LogEntry): number {
    const { clientTag = NO_TAG } = entry
    if (clientTag !== NO_TAG) return clientTag
    const number = this.clients.place(entry.clientId)
    if (number === OTHERS) return number
    entry.tagger?.tagClient(number)
    // The name in the table is a text of its own, whose hash is known.
    entry.clientId = this.clients.nameOf(number)
    return number
  }

  #numberOfRoute({ route, routeTag = NO_TAG, tagger }: LogEntry): number {
    if (routeTag !== NO_TAG) return routeTag
    const number = this.#routes.get(route) ?? this.#addRoute(route)
    if (number !== NO_NUMBER) tagger?.tagRoute(number)
    return number
  }

  #addRoute(route: string): number {
    if (this.#routes.size >= MOST_ROUTES) return NO_NUMBER
    this.#routes.set(detached(route), this.#routes.size)
    return this.#routes.size - 1
  }

  #countOutcome(outcome: Outcome, client: number, place: number, clientId: string): void {
    const { array, spoken } = this.#proposed
    const counts = array === undefined ? this.#policyCounts(spoken.policy) : array.notes
    counts.requests += 1
    if (outcome === OUTCOME.allowed) return
    const nowMs = this.clock.now()
    const isShadow = outcome === OUTCOME.shadowDenied
    counts.rule(array === undefined ? spoken.rule : array.rule.name).deny(client, nowMs, isShadow)
    this.#count(client, place, isShadow ? COLUMN.shadowDenied : COLUMN.denied)
    if (!isShadow) this.clients.noteDenial(client, clientId, nowMs)
  }

  /** A request that one of the two cannot decide is not compared. */
  #compare(after: Outcome, before: Outcome, client: number, place: number): void {
    if (after === OUTCOME.undecided || before === OUTCOME.undecided) return
    const [isDenied, wasDenied] = [after === OUTCOME.denied, before === OUTCOME.denied]
    if (wasDenied) this.#count(client, place, COLUMN.deniedBefore)
    if (wasDenied === isDenied) return
    this.#count(client, place, wasDenied ? COLUMN.newlyAllowed : COLUMN.newlyDenied)
  }

  /** Decides under raised limits, and notes the usage. The rules of a decision may be those of several policies. */
  #notePeaks(entry: LogEntry, unlimited: PolicyReplay<Peaks | undefined>, form: CheckForm | undefined): void {
    const { client } = this.#numbers
    const outcome = unlimited.decide(entry, this.#numbers, form)
    const { array, result } = unlimited
    if (array !== undefined) {
      if (outcome === OUTCOME.allowed) array.notes?.note(client, array.used(client, this.clock.now()))
      return
    }
    if (result === undefined || !result.allowed) return
    const { policy, decision } = result
    const { rules } = decision
    if (rules.length === 1) return this.#notePeak(policy.name, rules[0], client)
    let mostSpecific: string | undefined
    for (const rule of rules) {
      const slash = rule.name.indexOf('/')
      if (slash < 0) mostSpecific ??= this.#mostSpecific(entry)
      this.#notePeak(slash < 0 ? (mostSpecific as string) : rule.name.slice(0, slash), rule, client)
    }
  }

  #notePeak(policy: string, { name, limit, remaining }: RuleStatus, client: number): void {
    this.#peaksOf(policy, ruleIn(name))?.note(client, limit - remaining)
  }

  /** Returns undefined if the smallest limit of the rule cannot be found. */
  #peaksOf(policy: string, rule: string): Peaks | undefined {
    return this.#raised.get(policy)?.has(rule) ? this.peaks?.of(policy, rule) : undefined
  }

  #mostSpecific({ clientId, route, attributes }: LogEntry): string {
    return this.#book.find(clientId, route, attributes).name
  }

  #count(client: number, place: number, column: number): void {
    this.clients.add(client, column)
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
