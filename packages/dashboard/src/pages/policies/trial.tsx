// A trial of a change before it is saved: the old and the new rules under the same example traffic.

import { useMemo, useRef, useState } from 'preact/hooks'
import type { Rule } from 'sluice'
import { useElementWidth } from '../../controls/element-width.ts'
import { Segments } from '../../controls/segments.tsx'
import { spokenDuration } from '../../forms/duration-text.ts'
import { LanePicture } from '../../lanes/lane-picture.tsx'
import { highestColumn, hitColumns } from '../../lanes/picture.ts'
import { type Run, runRule } from '../../lanes/run-rule.ts'
import { fullCount, shareText } from '../../words/count-text.ts'
import { type TrialShape, trialTraffic } from './trial-traffic.ts'

const SHAPES: readonly (readonly [TrialShape, string])[] = [
  ['steady', 'Steady'],
  ['bursts', 'Bursts'],
  ['retrying', 'Retrying'],
]

export interface TrialProps {
  /** The stored rules. Empty for a new policy. */
  readonly before: readonly Rule[]
  /** The edited rules. Empty while they are invalid. */
  readonly after: readonly Rule[]
}

export function Trial({ before, after }: TrialProps) {
  const [shape, setShape] = useState<TrialShape>('steady')
  const frame = useRef<HTMLDivElement>(null)
  const width = useElementWidth(frame)
  const measure = before.length > 0 ? before : after
  const trial = useMemo(() => (measure.length === 0 ? undefined : trialTraffic(measure, shape)), [measure, shape])
  const run = (rules: readonly Rule[]) =>
    trial === undefined || rules.length === 0 ? undefined : runRule(rules, trial.traffic, trial.lengthMs, trial.spanMs)
  const runs = useMemo(() => ({ before: run(before), after: run(after) }), [before, after, trial])
  const isSame = before.length > 0 && describe(before) === describe(after)
  return (
    <section class="card trial" aria-label="Example traffic">
      <div class="card-head">
        <h2>With example traffic</h2>
        <Segments label="Traffic" choices={SHAPES} value={shape} onChoose={setShape} />
      </div>
      <div ref={frame}>
        {trial !== undefined && width > 0 && (
          <>
            {runs.before !== undefined && (
              <Lane
                title={isSame ? 'Now, and nothing changes' : 'Now'}
                rules={before}
                run={runs.before}
                other={runs.after}
                trial={trial}
                width={width}
              />
            )}
            {!isSame && runs.after !== undefined && (
              <Lane
                title={before.length === 0 ? 'What it would do' : 'After the change'}
                rules={after}
                run={runs.after}
                other={runs.before}
                trial={trial}
                width={width}
              />
            )}
            {after.length === 0 && <p class="soft">No picture of the change: its rules are not right yet, or deny everything.</p>}
          </>
        )}
      </div>
      {trial !== undefined && (
        <p class="small soft">
          {fullCount(trial.traffic.arrivals.length)} hits
          {trial.traffic.cost === 1 ? '' : ` of cost ${fullCount(trial.traffic.cost ?? 1)}`} of one client in{' '}
          {spokenDuration(trial.lengthMs)}, made to the measure of the first rule. The line is what is used of it.
        </p>
      )}
    </section>
  )
}

interface LaneProps {
  readonly title: string
  readonly rules: readonly Rule[]
  readonly run: Run
  readonly other: Run | undefined
  readonly trial: { readonly lengthMs: number; readonly spanMs: number }
  readonly width: number
}

function Lane({ title, rules, run, other, trial: { lengthMs, spanMs }, width }: LaneProps) {
  const columns = hitColumns(run.hits, width, lengthMs)
  const highest = Math.max(
    highestColumn(columns),
    other === undefined ? 1 : highestColumn(hitColumns(other.hits, width, lengthMs)),
  )
  const all = run.allowed + run.denied
  const numbers = `${shareText(run.allowed, all)} of hits allowed, ${fullCount(run.denied)} denied`
  return (
    <figure>
      <figcaption>
        <h3>{title}</h3>
        <span class="small soft">{numbers}</span>
      </figcaption>
      <LanePicture
        label={`${title}: ${numbers}`}
        limit={rules[0].limit}
        run={run}
        columns={columns}
        highestColumn={highest}
        lengthMs={lengthMs}
        spanMs={spanMs}
        isOver={false}
        width={width}
      />
    </figure>
  )
}

function describe(rules: readonly Rule[]): string {
  return JSON.stringify(rules.map(({ algorithm, parameters }) => [algorithm, parameters]))
}
