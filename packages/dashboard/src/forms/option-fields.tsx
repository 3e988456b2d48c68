// The fields of a form, made from descriptions of its options.

import { useId } from 'preact/hooks'
import type { Draft, OptionForm } from './option-form.ts'

export interface OptionFieldsProps {
  readonly forms: readonly OptionForm[]
  readonly draft: Draft
  /** Name of the wrong option, and the id of the text that says why. */
  readonly wrong?: string | undefined
  readonly problemId?: string
  readonly onChange: (draft: Draft) => void
}

export function OptionFields({ forms, draft, wrong, problemId, onChange }: OptionFieldsProps) {
  return (
    <>
      {forms.map((form) => (
        <OptionField
          key={form.name}
          form={form}
          value={draft[form.name] ?? form.start}
          problemId={form.name === wrong ? problemId : undefined}
          onChange={(value) => onChange({ ...draft, [form.name]: value })}
        />
      ))}
    </>
  )
}

interface OptionFieldProps {
  readonly form: OptionForm
  readonly value: string
  readonly problemId: string | undefined
  readonly onChange: (value: string) => void
}

function OptionField({ form, value, problemId, onChange }: OptionFieldProps) {
  const { label, kind, choices = [], hint, sameAs, sample = kind === 'duration' ? '10s' : undefined } = form
  const id = useId()
  if (kind === 'flag') {
    return (
      <label class="tick" title={hint}>
        <input
          type="checkbox"
          checked={value === 'yes'}
          onChange={(event) => onChange(event.currentTarget.checked ? 'yes' : 'no')}
        />
        {label}
      </label>
    )
  }
  return (
    <div class="field">
      <label class="label" for={id}>
        {label}
      </label>
      {kind === 'choice' ? (
        <select id={id} class="input" title={hint} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {choices.map(([choice, text]) => (
            <option key={choice} value={choice}>
              {text}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          class="input"
          type="text"
          inputMode={kind === 'units' ? 'numeric' : 'text'}
          autocomplete="off"
          spellcheck={false}
          value={value}
          placeholder={sameAs === undefined ? sample : `as ${sameAs}`}
          title={hint}
          aria-invalid={problemId !== undefined}
          aria-describedby={problemId}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </div>
  )
}
