// A choice among a few values that are all visible: radio buttons in one bar.

import { useId } from 'preact/hooks'

export interface SegmentsProps<T extends string> {
  readonly label: string
  readonly choices: readonly (readonly [value: T, label: string])[]
  readonly value: T
  readonly onChoose: (value: T) => void
}

export function Segments<T extends string>({ label, choices, value, onChoose }: SegmentsProps<T>) {
  const name = useId()
  return (
    <fieldset class="segments">
      <legend class="unseen">{label}</legend>
      {choices.map(([choice, text]) => (
        <label key={choice}>
          <input type="radio" name={name} value={choice} checked={choice === value} onChange={() => onChoose(choice)} />
          {text}
        </label>
      ))}
    </fieldset>
  )
}
