// A line of text with a label.

import { useId } from 'preact/hooks'

export interface TextFieldProps {
  readonly label: string
  readonly value: string
  readonly problem?: string | undefined
  readonly placeholder: string
  readonly onInput: (value: string) => void
}

export function TextField({ label, value, problem, placeholder, onInput }: TextFieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label class="label" for={id}>
        {label}
      </label>
      <input
        id={id}
        class="input mono"
        autocomplete="off"
        spellcheck={false}
        value={value}
        placeholder={placeholder}
        aria-invalid={problem !== undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </div>
  )
}
