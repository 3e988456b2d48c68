// The checks of one client over the last hour, by the minute.

import { useMemo } from 'preact/hooks'
import { usePolled } from '../../api/polled.ts'
import { minutely, sum } from '../../charts/buckets.ts'
import { DecisionsChart } from '../../charts/decisions-chart.tsx'
import { Legend } from '../../charts/legend.tsx'
import { AskFailed } from '../../controls/ask-failed.tsx'
import { fullCount, howMany } from '../../words/count-text.ts'

const EVERY_MS = 5000
const HEIGHT = 160

export function ClientRate({ clientId }: { readonly clientId: string }) {
  const activity = usePolled('getActivity', { query: { client_id: clientId } }, EVERY_MS)
  const { data } = activity
  const buckets = useMemo(() => data && minutely(data), [data])
  return (
    <section class="card client-rate" aria-label="Checks over time">
      <div class="card-head">
        <h2>
          Checks each minute <span class="small soft">in the last hour</span>
        </h2>
        <Legend outcomes={['allowed', 'denied']} />
      </div>
      <AskFailed of={[activity]} />
      {buckets === undefined ? (
        <div style={{ height: HEIGHT }} />
      ) : (
        <DecisionsChart buckets={buckets} height={HEIGHT} empty={<p class="soft">No check of this client in the last hour.</p>} />
      )}
      <p class="small soft">
        {data === undefined
          ? ' '
          : `${howMany(sum(data.allowed), 'check')} allowed and ${fullCount(sum(data.denied))} denied by this instance.`}
        {data !== undefined && data.allowed_missing_at_most + data.denied_missing_at_most > 0 && (
          <>
            {' '}
            Many other clients come at once, so up to {fullCount(data.allowed_missing_at_most)} allowed and{' '}
            {fullCount(data.denied_missing_at_most)} denied checks of this one may be missing here.
          </>
        )}
      </p>
    </section>
  )
}
