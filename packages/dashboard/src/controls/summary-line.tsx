// Shows a summary: an icon, a title and a text in the colours of its tone.

import type { ComponentChildren } from 'preact'
import { Icon } from './icon.tsx'
import type { Summary } from './summary.ts'

interface SummaryLineProps {
  readonly label: string
  /** Undefined until the service has answered. */
  readonly summary: Summary | undefined
  /** Stands beside the text. */
  readonly children?: ComponentChildren
}

export function SummaryLine({ label, summary, children }: SummaryLineProps) {
  return (
    <section class={`health ${summary?.tone ?? ''}`} aria-label={label}>
      <Icon name={summary === undefined || summary.tone === 'good' ? 'check' : 'warning'} />
      <div>
        <strong aria-live="polite">{summary?.title ?? 'Asking the service …'}</strong>
        <p>{summary?.text ?? ' '}</p>
      </div>
      {children}
    </section>
  )
}
