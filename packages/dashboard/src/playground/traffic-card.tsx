// The form of the traffic: its shape, its length, and the span of the busiest window.

import { useId } from 'preact/hooks'
import { Segments } from '../controls/segments.tsx'
import { OptionFields } from '../forms/option-fields.tsx'
import type { OptionForm } from '../forms/option-form.ts'
import type { Setup } from './setup.ts'
import type { ReadTraffic } from './signals.ts'
import { newTraffic, SHAPE_NAMES, SHAPES } from './traffic.ts'

const TIMES: readonly OptionForm[] = [
  { name: 'length', label: 'Time shown', kind: 'duration', start: '60s' },
  {
    name: 'span',
    label: 'Most in any',
    kind: 'duration',
    start: '10s',
    hint: 'The most that passed is looked for in every span of this length',
  },
]

export interface TrafficCardProps {
  readonly setup: Setup
  readonly times: ReadTraffic
  readonly onChange: (setup: Setup) => void
}

export function TrafficCard({ setup, times, onChange }: TrafficCardProps) {
  const problemId = useId()
  const { shape, options } = setup.traffic
  const { says, options: forms } = SHAPES[shape]
  const wrong = times.problem === undefined ? undefined : times.wrong
  return (
    <section class="traffic card" aria-label="Traffic">
      <div class="row">
        <Segments
          label="Traffic"
          choices={SHAPE_NAMES.map((name) => [name, SHAPES[name].title] as const)}
          value={shape}
          onChoose={(chosen) => onChange({ ...setup, traffic: newTraffic(chosen) })}
        />
        <p class="soft">{says}</p>
      </div>
      <div class="traffic-fields">
        <OptionFields
          forms={forms}
          draft={options}
          onChange={(draft) => onChange({ ...setup, traffic: { shape, options: draft } })}
        />
        <div class="traffic-times">
          <OptionFields
            forms={TIMES}
            draft={{ length: setup.length, span: setup.span }}
            wrong={wrong}
            problemId={problemId}
            onChange={({ length, span }) => onChange({ ...setup, length, span })}
          />
        </div>
      </div>
      {times.problem !== undefined && (
        <p class="problem" id={problemId} role="alert">
          {wrong === 'length' ? 'Time shown: ' : wrong === 'span' ? 'Most in any: ' : 'Traffic: '}
          {times.problem}
        </p>
      )}
    </section>
  )
}
