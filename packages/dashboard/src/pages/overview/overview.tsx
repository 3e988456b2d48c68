// The overview: the health of the service, its latest figures, and the clients that are affected.

import { useMemo, useRef } from 'preact/hooks'
import { checksOf, type History, type Stats, type Status } from '../../api/answers.ts'
import { withQuery } from '../../api/call.ts'
import { type Polled, usePolled } from '../../api/polled.ts'
import { type Buckets, bucketed, daily, hourly } from '../../charts/buckets.ts'
import { DecisionsChart } from '../../charts/decisions-chart.tsx'
import { Legend } from '../../charts/legend.tsx'
import { AskFailed } from '../../controls/ask-failed.tsx'
import { Figure } from '../../controls/figure.tsx'
import { Segments } from '../../controls/segments.tsx'
import { SummaryLine } from '../../controls/summary-line.tsx'
import { putQuery, queryValue } from '../../shell/address.ts'
import { shareText, shortCount } from '../../words/count-text.ts'
import { fullTime } from '../../words/time-text.ts'
import { BusyPolicies } from './busy-policies.tsx'
import { FirstCheck } from './first-check.tsx'
import { latencyText, quantile } from './latency.ts'
import { LimitedClients } from './limited-clients.tsx'
import './overview.css'
import { type HealthSummary, healthSummary, lastMinute } from './health.ts'
import { hoursOf, SPANS, type Span, secondsOf, spanNamed } from './spans.ts'

const EVERY_MS = 2000
const SLOWLY_MS = 5000
const ROWS = 6

const CHOICES = SPANS.map(({ name, label }) => [name, label] as const)

export function Overview() {
  const span = spanNamed(queryValue('seconds'))
  const hours = hoursOf(span)
  // The summary and the figures need the last minute in any case.
  const stats = usePolled('getStats', { query: { seconds: hours === undefined ? secondsOf(span) : 300 } }, EVERY_MS)
  const history = usePolled('getHistory', hours === undefined ? undefined : { query: { hours } }, SLOWLY_MS)
  const status = usePolled('getStatus', {}, EVERY_MS)
  const denied = usePolled('getTop', { query: { by: 'denied', limit: ROWS } }, SLOWLY_MS)
  const shown = hours === undefined ? stats.data : history.data
  return (
    <div class="overview">
      <header class="page-head">
        <div>
          <h1>Overview</h1>
          <p>
            Figures of this instance. <a href="/fleet">All instances</a>
          </p>
        </div>
        <Segments label="Span of time" choices={CHOICES} value={span.name as (typeof CHOICES)[number][0]} onChoose={choose} />
      </header>
      <AskFailed of={[stats, history, status, denied] as readonly Polled<unknown>[]} />
      <HealthCard summary={stats.data && status.data && denied.data && healthSummary(stats.data, status.data, denied.data)} />
      <Figures stats={stats.data} status={status.data} />
      <ChartCard stats={stats.data} history={history.data} span={span} />
      <div class="two-cards">
        <BusyPolicies policies={shown?.policies} span={span} />
        <LimitedClients top={denied.data} />
      </div>
    </div>
  )
}

function choose(span: string): void {
  putQuery('seconds', span)
}

interface ChartCardProps {
  readonly stats: Stats | undefined
  readonly history: History | undefined
  readonly span: Span
}

function ChartCard({ stats, history, span }: ChartCardProps) {
  const { stepSeconds, unit } = span
  const buckets = useMemo((): Buckets | undefined => {
    if (stepSeconds === undefined) return history && (unit === 'day' ? daily(history) : hourly(history))
    return stats && bucketed(stats, stepSeconds)
  }, [stats, history, stepSeconds, unit])
  const isNew = stats !== undefined && checksOf(stats.since_start) === 0
  return (
    <section class="card chart-card" aria-label="Decisions over time">
      <div class="card-head">
        <h2>Decisions each {unit}</h2>
        <Legend />
      </div>
      {buckets === undefined ? (
        <div class="chart-space" />
      ) : (
        <DecisionsChart buckets={buckets} {...(isNew && { empty: <FirstCheck /> })} />
      )}
      {stepSeconds === undefined && (
        <p class="small soft">
          The last {unit} is still running.
          {history !== undefined && Date.parse(history.started_at) / 1000 > history.from
            ? ` This instance counts since ${fullTime(history.started_at)}, its start.`
            : ''}
        </p>
      )}
    </section>
  )
}

function HealthCard({ summary }: { readonly summary: HealthSummary | undefined }) {
  return (
    <SummaryLine label="How things stand" summary={summary}>
      {summary !== undefined && summary.clients.length > 0 && (
        <div class="most-denied">
          <span>Denied most in this hour</span>
          <ul>
            {summary.clients.map((client) => (
              <li key={client}>
                <a class="clip" href={withQuery('/clients', { client })} title={client}>
                  {client}
                </a>
              </li>
            ))}
          </ul>
        </div>
      )}
    </SummaryLine>
  )
}

function Figures({ stats, status }: { readonly stats: Stats | undefined; readonly status: Status | undefined }) {
  const minute = stats && lastMinute(stats)
  const all = minute && checksOf(minute)
  const latency = useLatency(status)
  const store = status?.store
  const state = store === undefined ? '' : store.up ? 'up' : 'down'
  return (
    <dl class="figures">
      <Figure title="Checks a minute" value={all === undefined ? '' : shortCount(all)} />
      <Figure
        title="Denied"
        value={minute === undefined || all === undefined ? '' : shareText(minute.denied, all)}
        tone="denied"
      />
      <Figure title="Shadow-denied" value={minute === undefined ? '' : shortCount(minute.shadow_denied)} tone="shadow_denied" />
      <Figure title="Errors" value={minute === undefined ? '' : shortCount(minute.errors)} tone="errors" />
      <Figure title="99% decided" value={latency} />
      <Figure
        title={store === undefined ? 'Store' : `Store: ${store.kind}`}
        value={state}
        chip={store === undefined ? undefined : store.up ? 'good' : 'bad'}
        more={
          store === undefined
            ? ''
            : store.counters === null
              ? `${shortCount(store.failures)} failures`
              : `${shortCount(store.counters)} counters`
        }
      />
    </dl>
  )
}

/** The time that 99% of the checks of the last minute stayed below. It includes the time of the store. */
function useLatency(status: Status | undefined): string {
  const readings = useRef<{ readonly atMs: number; readonly status: Status }[]>([])
  if (status === undefined) return ''
  const known = readings.current
  if (known.at(-1)?.status !== status) {
    known.push({ atMs: Date.now(), status })
    while (known.length > 2 && known[1].atMs < Date.now() - 60_000) known.shift()
  }
  const { check_seconds } = status
  const before = known.length > 1 ? known[0].status.check_seconds : undefined
  return latencyText(
    quantile(check_seconds, before, 0.99) ?? quantile(check_seconds, undefined, 0.99),
    check_seconds.bounds.at(-1) ?? 0,
  )
}
