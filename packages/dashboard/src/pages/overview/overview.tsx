// The overview: the health of the service, its latest figures, and the clients that are affected.

import { useMemo, useRef } from 'preact/hooks'
import type { Stats, Status, Top } from '../../api/answers.ts'
import { withQuery } from '../../api/call.ts'
import { type Polled, usePolled } from '../../api/polled.ts'
import { bucketed } from '../../charts/buckets.ts'
import { DecisionsChart, STACK } from '../../charts/decisions-chart.tsx'
import { Sparkline } from '../../charts/sparkline.tsx'
import { AskFailed } from '../../controls/ask-failed.tsx'
import { Icon } from '../../controls/icon.tsx'
import { Segments } from '../../controls/segments.tsx'
import { putQuery, queryValue } from '../../shell/address.ts'
import { fullCount, shareText, shortCount } from '../../words/count-text.ts'
import { latencyText, quantile } from './latency.ts'
import './overview.css'
import { type HealthSummary, healthSummary, lastMinute } from './health.ts'

/** Ranges in seconds, and the length of a step of the chart in each. */
const RANGES = { '300': 2, '900': 5, '3600': 15 } as const
type Range = keyof typeof RANGES

const RANGE_NAMES: readonly (readonly [Range, string])[] = [
  ['300', '5 min'],
  ['900', '15 min'],
  ['3600', '1 h'],
]

const EVERY_MS = 2000
const SLOWLY_MS = 5000
const ROWS = 6

export function Overview() {
  const asked = queryValue('seconds')
  const range: Range = asked in RANGES ? (asked as Range) : '300'
  const stats = usePolled('getStats', { query: { seconds: Number(range) } }, EVERY_MS)
  const status = usePolled('getStatus', {}, EVERY_MS)
  const denied = usePolled('getTop', { query: { by: 'denied', limit: ROWS } }, SLOWLY_MS)
  const buckets = useMemo(() => stats.data && bucketed(stats.data, RANGES[range]), [stats.data, range])
  return (
    <div class="overview">
      <header class="page-head">
        <h1>Overview</h1>
        <Segments label="How far back" choices={RANGE_NAMES} value={range} onChoose={(chosen) => putQuery('seconds', chosen)} />
      </header>
      <AskFailed of={[stats, status, denied] as readonly Polled<unknown>[]} />
      <HealthCard summary={stats.data && status.data && denied.data && healthSummary(stats.data, status.data, denied.data)} />
      <Figures stats={stats.data} status={status.data} />
      <section class="card chart-card" aria-label="Decisions over time">
        <div class="card-head">
          <h2>Decisions each second</h2>
          <ul class="legend small soft">
            {STACK.toReversed().map(([outcome, title]) => (
              <li key={outcome}>
                <span class={`swatch ${outcome}`} /> {title}
              </li>
            ))}
          </ul>
        </div>
        {buckets === undefined ? <div class="chart-space" /> : <DecisionsChart buckets={buckets} />}
      </section>
      <div class="two-cards">
        <BusyPolicies stats={stats.data} seconds={Number(range)} />
        <LimitedClients top={denied.data} />
      </div>
    </div>
  )
}

function HealthCard({ summary }: { readonly summary: HealthSummary | undefined }) {
  return (
    <section class={`health ${summary?.tone ?? ''}`} aria-label="How things stand">
      <Icon name={summary === undefined || summary.tone === 'good' ? 'check' : 'warning'} />
      <div>
        <strong aria-live="polite">{summary?.title ?? 'Asking the service …'}</strong>
        <p>{summary?.text ?? ' '}</p>
      </div>
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
    </section>
  )
}

function Figures({ stats, status }: { readonly stats: Stats | undefined; readonly status: Status | undefined }) {
  const minute = stats && lastMinute(stats)
  const all = minute && minute.allowed + minute.denied + minute.shadow_denied + minute.errors
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

interface FigureProps {
  readonly title: string
  readonly value: string
  readonly tone?: string
  readonly chip?: 'good' | 'bad' | undefined
  readonly more?: string
}

function Figure({ title, value, tone, chip, more }: FigureProps) {
  return (
    <div class="figure card">
      <dt class="small soft">
        {tone !== undefined && <span class={`swatch ${tone}`} />} {title}
      </dt>
      <dd class="clip" title={value}>
        {chip === undefined ? value || ' ' : <span class={`chip ${chip}`}>{value}</span>}
      </dd>
      {more !== undefined && (
        <dd class="small soft clip" title={more}>
          {more || ' '}
        </dd>
      )}
    </div>
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

function BusyPolicies({ stats, seconds }: { readonly stats: Stats | undefined; readonly seconds: number }) {
  const policies = stats?.policies
    .filter((policy) => policy.denied + policy.shadow_denied > 0)
    .toSorted((a, b) => b.denied + b.shadow_denied - (a.denied + a.shadow_denied))
    .slice(0, ROWS)
  return (
    <section class="card list-card" aria-label="Policies that deny most">
      <h2>Policies that deny most</h2>
      {policies === undefined ? null : policies.length === 0 ? (
        <p class="empty soft">No policy denied anything in this time.</p>
      ) : (
        <table class="plain fixed-columns busy-policies">
          <colgroup>
            <col />
            <col class="over-time-column" />
            <col class="count-column" />
            <col class="share-column" />
          </colgroup>
          <thead>
            <tr>
              <th scope="col">Policy</th>
              <th scope="col" class="over-time">
                Denied over time
              </th>
              <th scope="col" class="number">
                Denied
              </th>
              <th scope="col" class="number">
                of all
              </th>
            </tr>
          </thead>
          <tbody>
            {policies.map((policy) => {
              const turned = policy.denied + policy.shadow_denied
              return (
                <tr key={policy.name}>
                  <td>
                    <span class="name-cell">
                      <a class="clip" href={withQuery('/policies', { name: policy.name })} title={policy.name}>
                        {policy.name}
                      </a>
                      {policy.denied === 0 && <span class="chip shadow">shadow</span>}
                    </span>
                  </td>
                  <td class="over-time">
                    <PolicySparkline name={policy.name} seconds={seconds} />
                  </td>
                  <td class="number">{shortCount(turned)}</td>
                  <td class="number">{shareText(turned, turned + policy.allowed + policy.errors)}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      )}
    </section>
  )
}

function PolicySparkline({ name, seconds }: { readonly name: string; readonly seconds: number }) {
  const { data } = usePolled('getStats', { query: { policy: name, seconds } }, SLOWLY_MS)
  const counts = useMemo(() => {
    if (data === undefined) return []
    const buckets = bucketed(data, Math.ceil(seconds / 30))
    return buckets.denied.map((count, i) => count + buckets.shadow_denied[i])
  }, [data, seconds])
  return <Sparkline counts={counts} label={`Denied by ${name} over time`} />
}

function LimitedClients({ top }: { readonly top: Top | undefined }) {
  return (
    <section class="card list-card" aria-label="Clients limited most">
      <h2>
        Clients limited most <span class="small soft">in the last hour</span>
      </h2>
      {top === undefined ? null : top.clients.length === 0 ? (
        <p class="empty soft">No client was denied anything.</p>
      ) : (
        <table class="plain fixed-columns">
          <colgroup>
            <col />
            <col class="over-time-column" />
            <col class="estimate-column" />
          </colgroup>
          <thead>
            <tr>
              <th scope="col">Client</th>
              <th scope="col" class="over-time">
                Denied over time
              </th>
              <th scope="col" class="number">
                Denied
              </th>
            </tr>
          </thead>
          <tbody>
            {top.clients.map(({ client_id, count, error, minutes }) => (
              <tr key={client_id}>
                <td>
                  <a href={withQuery('/clients', { client: client_id })} class="clip" title={client_id}>
                    {client_id}
                  </a>
                </td>
                <td class="over-time">
                  <Sparkline counts={minutes} label={`Denied to ${client_id} over the last hour`} />
                </td>
                <td class="number" title={error > 0 ? `At least ${fullCount(count - error)}` : undefined}>
                  {error > 0 ? 'up to ' : ''}
                  {shortCount(count)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
