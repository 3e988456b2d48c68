// The colours of a chart of decisions, with their names.

import type { Outcome } from '../api/answers.ts'
import { STACK } from './decisions-chart.tsx'

/** `outcomes` are those that the chart can show. Default: all. */
export function Legend({ outcomes }: { readonly outcomes?: readonly Outcome[] }) {
  return (
    <ul class="legend small soft">
      {STACK.toReversed()
        .filter(([outcome]) => outcomes?.includes(outcome) ?? true)
        .map(([outcome, title]) => (
          <li key={outcome}>
            <span class={`swatch ${outcome}`} /> {title}
          </li>
        ))}
    </ul>
  )
}
