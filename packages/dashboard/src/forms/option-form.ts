// The description of an option for a form: its name, its kind of field and its default. A draft holds the typed text.
// Nothing here checks values. The library does that when the rule is made.

import type { OptionValue } from '../api/answers.ts'

export interface OptionForm {
  readonly name: string
  readonly label: string
  readonly kind: 'units' | 'duration' | 'choice' | 'flag' | 'text'
  /** Text of the field before anybody types. */
  readonly start: string
  /** For a choice: the values, and the labels that are shown. */
  readonly choices?: readonly (readonly [value: string, label: string])[]
  /** The value that means the same as leaving the option out. */
  readonly otherwise?: string
  /** For a text: a value that is shown while the field is empty. */
  readonly sample?: string
  /** The option that this one takes its value from while it is empty. */
  readonly sameAs?: string
  /** True if the field is shown only on request. */
  readonly isRare?: boolean
  readonly hint?: string
}

/** The typed text, by option. */
export type Draft = Readonly<Record<string, string>>

export function startDraft(forms: readonly OptionForm[]): Draft {
  return Object.fromEntries(forms.map(({ name, start }) => [name, start]))
}

/** The typed options as values for the library. Text that is no number stays text, so that the error message can quote it. */
export function optionValues(forms: readonly OptionForm[], draft: Draft): Record<string, OptionValue> {
  const values: Record<string, OptionValue> = {}
  for (const { name, kind, start, otherwise, sameAs } of forms) {
    const text = (draft[name] ?? start).trim()
    if (text === otherwise || (text === '' && sameAs !== undefined)) continue
    if (kind === 'flag') values[name] = text === 'yes'
    else if (kind === 'units' || /^\d+$/.test(text)) values[name] = /^\d+$/.test(text) ? Number(text) : text
    else values[name] = text
  }
  return values
}
