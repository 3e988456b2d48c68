// A text that changes and always takes the room of the longest one, so that nothing beside it moves.

export interface ChangingTextProps {
  /** All texts that it may show. */
  readonly texts: readonly string[]
  readonly shown: string
}

export function ChangingText({ texts, shown }: ChangingTextProps) {
  // The style sheet draws all of them, unseen, below each other.
  return (
    <span class="changing-text" data-texts={texts.join('\n')}>
      <span aria-live="polite">{shown}</span>
    </span>
  )
}
