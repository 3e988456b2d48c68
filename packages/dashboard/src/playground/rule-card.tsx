// One rule: its options, its picture, its figures.

import { useId, useState } from 'preact/hooks'
import { Icon } from '../controls/icon.tsx'
import { spokenDuration } from '../forms/duration-text.ts'
import { LanePicture } from '../lanes/lane-picture.tsx'
import { LANE } from '../lanes/picture.ts'
import { MOST_HITS, type Run } from '../lanes/run-rule.ts'
import { ALGORITHM_NAMES, ALGORITHMS, type Algorithm } from '../rules/algorithm-forms.ts'
import { type RuleDraft, withAlgorithm } from '../rules/rule-form.ts'
import { RuleOptions } from '../rules/rule-options.tsx'
import { cursorMs, hitBars, type Lane, pictureWidth } from './signals.ts'
import { UseRuleDialog } from './use-rule-dialog.tsx'

export interface RuleCardProps {
  readonly draft: RuleDraft
  readonly lane: Lane
  readonly number: number
  readonly lengthMs: number
  readonly spanMs: number
  readonly origin: string
  readonly onChange: (draft: RuleDraft) => void
  readonly onRemove: (() => void) | undefined
}

export function RuleCard(props: RuleCardProps) {
  const { draft, lane, number, lengthMs, spanMs, origin, onChange, onRemove } = props
  const { title } = ALGORITHMS[draft.algorithm]
  const [isUsed, setUsed] = useState(false)
  const problemId = useId()
  const width = pictureWidth.value
  const columns = hitBars.value.columns[number - 1]
  const { run, rule } = lane
  return (
    <article class="rule-card card" aria-label={`Rule ${number}: ${title}`}>
      <div class="rule-form">
        <div class="rule-head">
          <select
            class="input algorithm"
            aria-label={`Algorithm of rule ${number}`}
            value={draft.algorithm}
            onChange={(event) => onChange(withAlgorithm(draft, event.currentTarget.value as Algorithm))}
          >
            {ALGORITHM_NAMES.map((name) => (
              <option key={name} value={name}>
                {ALGORITHMS[name].title}
              </option>
            ))}
          </select>
          <button
            type="button"
            class="button icon-only"
            title="Use this rule"
            aria-label={`Use rule ${number}`}
            onClick={() => setUsed(true)}
            disabled={rule === undefined}
          >
            <Icon name="code" />
          </button>
          <button
            type="button"
            class="button icon-only"
            title="Remove this rule"
            aria-label={`Remove rule ${number}`}
            onClick={onRemove}
            disabled={onRemove === undefined}
          >
            <Icon name="cross" />
          </button>
        </div>
        <RuleOptions draft={draft} wrong={lane.wrong} problemId={problemId} onChange={onChange} />
        {lane.problem !== undefined && (
          <p class="problem" id={problemId} role="alert">
            {lane.problem}
          </p>
        )}
      </div>
      <div class="rule-picture">
        {run !== undefined && rule !== undefined && columns !== undefined && width > 0 ? (
          <LanePicture
            label={`${title}: ${spokenNumbers(run, spanMs)}`}
            limit={rule.limit}
            run={run}
            columns={columns}
            highestColumn={hitBars.value.highest}
            lengthMs={lengthMs}
            spanMs={spanMs}
            isOver={isFarOver(run.busiest.count, lane.meant)}
            width={width}
            cursorMs={cursorMs}
          />
        ) : (
          <div class="no-picture soft" style={{ height: LANE.height }}>
            {lane.problem === undefined ? '' : 'No picture until the rule is right.'}
          </div>
        )}
      </div>
      <RuleNumbers run={run} meant={lane.meant} spanMs={spanMs} />
      {isUsed && <UseRuleDialog spec={lane.spec} origin={origin} onClose={() => setUsed(false)} />}
    </article>
  )
}

function RuleNumbers({ run, meant, spanMs }: { readonly run: Run | undefined; readonly meant: number; readonly spanMs: number }) {
  if (run === undefined) return <div class="rule-numbers" />
  const { busiest, allowed, denied, isCut } = run
  return (
    <div class="rule-numbers">
      <p class="most">
        <strong data-number="most">{busiest.count}</strong>
        <span class="small soft">most in any {spokenDuration(spanMs)}</span>
      </p>
      <p>
        <RateChip count={busiest.count} meant={meant} />
      </p>
      <dl class="counts small">
        <div>
          <dt>
            <span class="swatch allowed" /> allowed
          </dt>
          <dd data-number="allowed">{allowed}</dd>
        </div>
        <div>
          <dt>
            <span class="swatch denied" /> denied
          </dt>
          <dd data-number="denied">{denied}</dd>
        </div>
      </dl>
      {isCut && <p class="problem">Stopped after {MOST_HITS.toLocaleString('en')} hits.</p>}
    </div>
  )
}

function RateChip({ count, meant }: { readonly count: number; readonly meant: number }) {
  if (count <= meant) return <span class="chip good">within its rate</span>
  const times = Math.round((count / meant) * 100) / 100
  return <span class={isFarOver(count, meant) ? 'chip bad' : 'chip warn'}>{times} × its rate</span>
}

/** A burst on top of the rate is expected. More than 1.5 times the expected number is marked. */
function isFarOver(count: number, meant: number): boolean {
  return count >= 1.5 * meant
}

function spokenNumbers({ allowed, denied, busiest }: Run, spanMs: number): string {
  return `${allowed} allowed, ${denied} denied, at most ${busiest.count} in any ${spokenDuration(spanMs)}`
}
