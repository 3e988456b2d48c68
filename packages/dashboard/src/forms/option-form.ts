// What a form has to know of an option: how it is called, asked for and left out. A draft holds what was typed, as text;
// nothing here judges it, because the library does that when the rule is made.

import type { OptionValue } from '../api/answers.ts'

export interface OptionForm {
  readonly name: string
  readonly label: string
  readonly kind: 'units' | 'duration' | 'choice' | 'flag'
  /** What the field holds before anybody has typed. */
  readonly start: string
  /** Of a choice: what is written, and what is shown. */
  readonly choices?: readonly (readonly [value: string, label: string])[]
  /** The value that is the same as leaving the option out. */
  readonly otherwise?: string
  /** The option that this one equals when it is left empty. */
  readonly sameAs?: string
  /** Shown only on request. */
  readonly isRare?: boolean
  readonly hint?: string
}

/** What was typed, by option. */
export type Draft = Readonly<Record<string, string>>

export function startDraft(forms: readonly OptionForm[]): Draft {
  return Object.fromEntries(forms.map(({ name, start }) => [name, start]))
}

/** The options that were typed, as the library takes them. What is no number stays text, so that its error message can show it. */
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
