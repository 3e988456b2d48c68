// A search field. One text is both its placeholder and its accessible name.

import { Icon } from './icon.tsx'

export interface SearchFieldProps {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
}

export function SearchField({ label, value, onInput }: SearchFieldProps) {
  return (
    <span class="search">
      <Icon name="search" />
      <input
        class="input"
        type="search"
        aria-label={label}
        placeholder={label}
        autocomplete="off"
        spellcheck={false}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </span>
  )
}
