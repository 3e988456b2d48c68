// A text that changes but always has the width of its longest value, so that nothing beside it moves.

export interface ChangingTextProps {
  /** All values that it may show. */
  readonly texts: readonly string[]
  readonly shown: string
}

export function ChangingText({ texts, shown }: ChangingTextProps) {
  // The style sheet stacks all values, invisible, to reserve the width.
  return (
    <span class="changing-text" data-texts={texts.join('\n')}>
      <span aria-live="polite">{shown}</span>
    </span>
  )
}
