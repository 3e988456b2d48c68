// Fields of a policy besides its patterns and rules: conditions on attributes, the end, the reason of a denial.

import { useId } from 'preact/hooks'
import { LIMITS } from 'sluice-client/contract'
import { Icon } from '../../controls/icon.tsx'
import { ENDS, endAt, localText, readLocal } from './expiry.ts'
import type { Condition } from './policy-draft.ts'
import { TextField } from './text-field.tsx'

interface ConditionFieldsProps {
  readonly conditions: readonly Condition[]
  readonly onChange: (conditions: readonly Condition[]) => void
}

export function ConditionFields({ conditions, onChange }: ConditionFieldsProps) {
  const put = (i: number, changed: Partial<Condition>) => onChange(conditions.with(i, { ...conditions[i], ...changed }))
  return (
    <div class="field">
      <span class="label">Only if attributes match</span>
      {conditions.map(({ name, pattern }, i) => (
        <div class="condition" key={i}>
          <TextField label={`Attribute ${i + 1}`} value={name} placeholder="plan" onInput={(text) => put(i, { name: text })} />
          <TextField
            label={`Pattern ${i + 1}`}
            value={pattern}
            placeholder="free"
            onInput={(text) => put(i, { pattern: text })}
          />
          <button type="button" class="button slim" onClick={() => onChange(conditions.toSpliced(i, 1))}>
            <Icon name="bin" /> <span class="unseen">Remove condition {i + 1}</span>
          </button>
        </div>
      ))}
      {conditions.length < LIMITS.mostAttributes && (
        <button type="button" class="button slim add-rule" onClick={() => onChange([...conditions, { name: '', pattern: '' }])}>
          <Icon name="plus" /> Add a condition
        </button>
      )}
    </div>
  )
}

interface ExpiryFieldProps {
  /** In RFC 3339; empty if the policy does not end. */
  readonly value: string
  readonly problem: string | undefined
  readonly onChange: (value: string) => void
}

export function ExpiryField({ value, problem, onChange }: ExpiryFieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label class="label" for={id}>
        Ends
      </label>
      <div class="row">
        <input
          id={id}
          class="input"
          type="datetime-local"
          value={localText(value)}
          aria-invalid={problem !== undefined}
          onInput={(event) => onChange(readLocal(event.currentTarget.value))}
        />
        {ENDS.map((end) => (
          <button type="button" class="button slim" key={end.name} onClick={() => onChange(endAt(end.name, new Date()))}>
            {end.label}
          </button>
        ))}
      </div>
    </div>
  )
}

interface ReasonFieldsProps {
  readonly reason: string
  readonly isShown: boolean
  readonly problem: string | undefined
  readonly onChange: (reason: string, isShown: boolean) => void
}

export function ReasonFields({ reason, isShown, problem, onChange }: ReasonFieldsProps) {
  return (
    <div class="field">
      <TextField
        label="Reason"
        value={reason}
        problem={problem}
        placeholder="floods the search"
        onInput={(text) => onChange(text, isShown)}
      />
      <label class="row small">
        <input type="checkbox" checked={isShown} onChange={(event) => onChange(reason, event.currentTarget.checked)} />
        Show the reason to callers that are denied
      </label>
    </div>
  )
}
