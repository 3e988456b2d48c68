// A change, line by line. Removed and added lines differ by a sign as well as by colour.

import type { DiffLine } from './line-diff.ts'

const SIGNS = { kept: ' ', removed: '−', added: '+' } as const

export function DiffView({ lines }: { readonly lines: readonly DiffLine[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard
    <section class="code diff" tabIndex={0} aria-label="What changes">
      {lines.map(({ kind, text }, i) => (
        <div key={`${i} ${text}`} class={kind}>
          <span aria-hidden="true">{SIGNS[kind]} </span>
          {kind !== 'kept' && <span class="unseen">{kind}: </span>}
          {text}
        </div>
      ))}
    </section>
  )
}
