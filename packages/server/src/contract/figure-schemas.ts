// Schemas of requests and responses about statistics, status and health.

import Type from 'typebox'
import { BACKEND_KINDS } from '../service.ts'
import { RING_HOURS, RING_SECONDS } from '../stats/second-ring.ts'
import { LIMITS } from './limits.ts'
import { RecordsState, RecordsView } from './record-schemas.ts'
import { named, strict, Time, Whole } from './schemas.ts'

const Series = Type.Array(Whole, { description: 'One count for each second, oldest first.' })

const counts = { allowed: Whole, denied: Whole, shadow_denied: Whole, errors: Whole }

const Complete = Type.Boolean({
  description:
    'True if every check of this time is counted under the name of its policy. False if more than 100 policies were in use: checks may be under `other`, or belong to a policy that is not listed any more.',
})

export const StatsView = Type.Object(
  {
    from: Type.Integer({ description: 'The first second of the series, in seconds since the epoch.' }),
    seconds: Type.Integer({ description: 'Length of the series in seconds.' }),
    allowed: Series,
    denied: Series,
    shadow_denied: Series,
    errors: Series,
    policies: Type.Array(Type.Object({ name: Type.String(), ...counts }), {
      description: 'Sums over the same seconds, busiest first.',
    }),
    policies_complete: Complete,
    since_start: Type.Object({ started_at: Time, ...counts }),
  },
  named('Stats'),
)

export const StatsQuery = Type.Object(
  {
    seconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: RING_SECONDS, description: `Seconds to go back; ${RING_SECONDS} by default.` }),
    ),
    policy: Type.Optional(Type.String({ maxLength: LIMITS.longestName, description: 'Only this policy.' })),
  },
  strict,
)

const HourSeries = Type.Array(Whole, { description: 'One count for each hour, oldest first.' })

export const HistoryView = Type.Object(
  {
    from: Type.Integer({ description: 'The start of the first hour, in seconds since the epoch.' }),
    hours: Type.Integer({ description: 'Length of the series in hours.' }),
    allowed: HourSeries,
    denied: HourSeries,
    shadow_denied: HourSeries,
    errors: HourSeries,
    policies: Type.Array(Type.Object({ name: Type.String(), ...counts }), {
      description: 'Sums over the same hours, busiest first.',
    }),
    policies_complete: Complete,
    started_at: Time,
  },
  named('History'),
)

export const HistoryQuery = Type.Object(
  {
    hours: Type.Optional(
      Type.Integer({ minimum: 1, maximum: RING_HOURS, description: `Hours to go back; ${RING_HOURS} by default.` }),
    ),
    policy: Type.Optional(Type.String({ maxLength: LIMITS.longestName, description: 'Only this policy.' })),
  },
  strict,
)

export const FleetView = Type.Object(
  {
    instances: Type.Array(
      Type.Object({
        id: Type.String({ description: 'The host and a random text. Another one after each start.' }),
        self: Type.Boolean({ description: 'True for the instance that answers.' }),
        version: Type.String(),
        state: Type.String({
          description:
            '`starting`, `ready` or `draining`; `stopped`: it has ended in order; `gone`: it has missed three reports.',
        }),
        started_at: Time,
        seen_ms_ago: Type.Integer({ minimum: 0, description: 'Time since its report was published.' }),
        ...counts,
        per_second: Type.Number({ minimum: 0, description: 'Checks a second in the last minute of its report.' }),
      }),
      { description: 'The answering instance first, then by start. Those that are gone are listed for ten minutes.' },
    ),
    unreadable: Type.Integer({ minimum: 0, description: 'Instances whose report has a form of another version.' }),
    up: Type.Integer({ minimum: 0, description: 'Instances that are up.' }),
    totals: Type.Object(counts, { description: 'Checks of the instances that are up, each since its start.' }),
    from: Type.Integer({ description: 'The first second of the series, in seconds since the epoch.' }),
    seconds: Type.Integer({ description: 'Length of the series in seconds.' }),
    allowed: Series,
    denied: Series,
    shadow_denied: Series,
    errors: Series,
    policies: Type.Array(Type.Object({ name: Type.String(), ...counts }), {
      description: 'Sums over the last hour, of the 20 busiest policies of each instance that is up. Busiest first.',
    }),
    problem: Type.Union([Type.String(), Type.Null()], {
      description: 'The reason why other instances are not known now; null if they are.',
    }),
  },
  named('Fleet'),
)

export const TopView = Type.Object(
  {
    by: Type.Enum(['denied', 'allowed']),
    clients: Type.Array(
      Type.Object({
        client_id: Type.String(),
        count: Type.Integer({ description: 'Checks in the last hour. Never too low.' }),
        error: Type.Integer({ description: 'The most by which `count` may be too high.' }),
        minutes: Type.Array(Type.Integer(), {
          description: 'Checks of each minute of the last hour, oldest first. Checks in `error` are not included.',
        }),
      }),
    ),
    unlisted_at_most: Type.Integer({ description: 'Upper bound for the count of any client that is not listed.' }),
  },
  named('Top'),
)

export const TopQuery = Type.Object(
  {
    by: Type.Optional(Type.Enum(['denied', 'allowed'], { description: 'The outcome to count; denied by default.' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: 'Clients at most; 10 by default.' })),
  },
  strict,
)

const MinuteSeries = Type.Array(Whole, { description: 'One count for each minute, oldest first.' })

export const ActivityView = Type.Object(
  {
    client_id: Type.String(),
    from: Type.Integer({ description: 'The start of the first minute, in seconds since the epoch.' }),
    minutes: Type.Integer({ description: 'Length of the series in minutes.' }),
    allowed: MinuteSeries,
    denied: MinuteSeries,
    allowed_missing_at_most: Type.Integer({ minimum: 0, description: 'Upper bound of allowed checks that no minute has.' }),
    denied_missing_at_most: Type.Integer({ minimum: 0, description: 'Upper bound of denied checks that no minute has.' }),
    started_at: Time,
  },
  named('Activity'),
)

export const ActivityQuery = Type.Object(
  { client_id: Type.String({ minLength: 1, maxLength: LIMITS.longestClientId, description: 'The client.' }) },
  strict,
)

const HistogramView = Type.Object(
  {
    bounds: Type.Array(Type.Number(), { description: 'Upper bounds in seconds, ascending.' }),
    counts: Type.Array(Type.Integer(), {
      description: 'Counts since the start: one for each bound, and one for values above all bounds. Not cumulative.',
    }),
  },
  named('Histogram'),
)

export const StatusView = Type.Object(
  {
    version: Type.String(),
    state: Type.Enum(['starting', 'ready', 'draining']),
    started_at: Time,
    policies: Type.Integer({ description: 'Policies in force.' }),
    store: Type.Object({
      kind: Type.Enum([...BACKEND_KINDS]),
      up: Type.Boolean({ description: 'True if the store answers.' }),
      breaker_open: Type.Boolean({ description: 'True while the store is not called because it failed too often.' }),
      failure_mode: Type.Enum(['local', 'allow', 'deny', 'throw'], { description: 'The fallback if the store does not answer.' }),
      counters: Type.Union([Type.Integer(), Type.Null()], { description: 'Number of counters; null if the store cannot tell.' }),
      failures: Type.Integer({ description: 'Failed calls since the start.' }),
      seconds: HistogramView,
    }),
    records: RecordsView,
    fallback_decisions: Type.Integer({ description: 'Decisions made without the store, since the start.' }),
    check_seconds: HistogramView,
  },
  named('Status'),
)

export const AliveView = Type.Object({ state: Type.Literal('alive') })

export const ReadyView = Type.Object(
  {
    state: Type.Enum(['ready', 'degraded', 'starting', 'draining', 'store-down'], {
      description: '`degraded`: the store does not answer, and the fallback decides.',
    }),
    store: Type.Enum([...BACKEND_KINDS]),
    records: RecordsState,
  },
  named('Readiness'),
)
