// The checks of the last hour over time, as they are decided now and after a change. Both charts have one scale.

import { useRef } from 'preact/hooks'
import type { Simulation } from '../../api/answers.ts'
import { joined } from '../../charts/columns.ts'
import { DenialsChart } from '../../charts/denials-chart.tsx'
import { useElementWidth } from '../../controls/element-width.ts'
import { fullCount } from '../../words/count-text.ts'
import { clockTime } from '../../words/time-text.ts'

const MOST_COLUMNS = 60

export function LastHourChart({ report }: { readonly report: Simulation }) {
  const frame = useRef<HTMLDivElement>(null)
  const width = useElementWidth(frame)
  const { series, requests, denied, change } = report
  const checks = joined(series.requests, MOST_COLUMNS)
  const highest = Math.max(1, ...checks)
  const lanes = [
    ['Now', series.denied_before, change.denied_before],
    ['After the change', series.denied, denied],
  ] as const
  return (
    <div ref={frame} class="last-hour-chart">
      {width > 0 &&
        lanes.map(([title, counts, total]) => (
          <figure key={title}>
            <figcaption class="small">
              {title} <span class="soft">{fullCount(total)} denied</span>
            </figcaption>
            <DenialsChart
              label={`The last hour, ${title.toLowerCase()}: ${fullCount(total)} of ${fullCount(requests)} checks denied`}
              checks={checks}
              denied={joined(counts, MOST_COLUMNS)}
              highest={highest}
              width={width}
            />
          </figure>
        ))}
      <p class="small soft chart-ends">
        <span>{clockTime(report.first ?? '')}</span>
        <span class="legend">
          <span>
            <span class="swatch denied" /> denied
          </span>
          <span>
            <span class="swatch allowed" /> allowed
          </span>
        </span>
        <span>{clockTime(report.last ?? '')}</span>
      </p>
    </div>
  )
}
