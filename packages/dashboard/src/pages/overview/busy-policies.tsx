// The policies that deny most in a span of time.

import { useMemo } from 'preact/hooks'
import type { PolicyCounts } from '../../api/answers.ts'
import { withQuery } from '../../api/call.ts'
import { usePolled } from '../../api/polled.ts'
import { type Buckets, bucketed, grouped } from '../../charts/buckets.ts'
import { Sparkline } from '../../charts/sparkline.tsx'
import { shareText, shortCount } from '../../words/count-text.ts'
import { hoursOf, type Span, secondsOf } from './spans.ts'

const EVERY_MS = 5000
const ROWS = 6

/** Points of a line at most: a month by the day. */
const POINTS = 31

interface BusyPoliciesProps {
  /** Sums over the span. Undefined until they are known. */
  readonly policies: readonly PolicyCounts[] | undefined
  readonly span: Span
}

export function BusyPolicies({ policies: all, span }: BusyPoliciesProps) {
  const policies = all
    ?.filter((policy) => policy.denied + policy.shadow_denied > 0)
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
                    <PolicySparkline name={policy.name} span={span} />
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

function PolicySparkline({ name, span }: { readonly name: string; readonly span: Span }) {
  const hours = hoursOf(span)
  const seconds = secondsOf(span)
  const stats = usePolled('getStats', hours === undefined ? { query: { policy: name, seconds } } : undefined, EVERY_MS)
  const history = usePolled('getHistory', hours === undefined ? undefined : { query: { policy: name, hours } }, EVERY_MS)
  const counts = useMemo(() => {
    if (hours === undefined) return stats.data === undefined ? [] : turnedAway(bucketed(stats.data, Math.ceil(seconds / POINTS)))
    return history.data === undefined ? [] : grouped(turnedAway(history.data), Math.ceil(hours / POINTS))
  }, [stats.data, history.data, hours, seconds])
  return <Sparkline counts={counts} label={`Denied by ${name} over time`} />
}

function turnedAway({ denied, shadow_denied }: Pick<Buckets, 'denied' | 'shadow_denied'>): number[] {
  return denied.map((count, i) => count + shadow_denied[i])
}
