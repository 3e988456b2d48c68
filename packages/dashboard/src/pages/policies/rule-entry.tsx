// The form of one rule of a policy: by options, or in notation.

import { useId } from 'preact/hooks'
import { Icon } from '../../controls/icon.tsx'
import { ALGORITHM_NAMES, ALGORITHMS, type Algorithm } from '../../rules/algorithm-forms.ts'
import { newRule, withAlgorithm } from '../../rules/rule-form.ts'
import { RuleOptions } from '../../rules/rule-options.tsx'
import { type RuleEntry, readEntries } from './policy-draft.ts'

export interface RuleEntryFormProps {
  readonly entry: RuleEntry
  readonly number: number
  readonly problem: string | undefined
  readonly wrong: string | undefined
  readonly onChange: (entry: RuleEntry) => void
  readonly onRemove: (() => void) | undefined
}

const NOTATION = 'notation'

export function RuleEntryForm({ entry, number, problem, wrong, onChange, onRemove }: RuleEntryFormProps) {
  const id = useId()
  const problemId = useId()
  return (
    <fieldset class="rule-entry">
      <legend class="unseen">Rule {number}</legend>
      <div class="rule-head">
        <select
          class="input algorithm"
          aria-label={`Algorithm of rule ${number}`}
          value={entry.kind === 'notation' ? NOTATION : entry.draft.algorithm}
          onChange={(event) => onChange(changedAlgorithm(entry, event.currentTarget.value))}
        >
          {ALGORITHM_NAMES.map((name) => (
            <option key={name} value={name}>
              {ALGORITHMS[name].title}
            </option>
          ))}
          <option value={NOTATION}>In notation</option>
        </select>
        <button
          type="button"
          class="button icon-only"
          aria-label={`Remove rule ${number}`}
          onClick={onRemove}
          disabled={onRemove === undefined}
        >
          <Icon name="cross" />
        </button>
      </div>
      {entry.kind === 'notation' ? (
        <div class="field">
          <label class="label" for={id}>
            Notation, such as 100/minute
          </label>
          <input
            id={id}
            class="input mono"
            value={entry.text}
            aria-invalid={problem !== undefined}
            aria-describedby={problem === undefined ? undefined : problemId}
            onInput={(event) => onChange({ kind: 'notation', text: event.currentTarget.value })}
          />
        </div>
      ) : (
        <RuleOptions draft={entry.draft} wrong={wrong} problemId={problemId} onChange={(draft) => onChange({ ...entry, draft })}>
          <div class="field">
            <label class="label" for={id}>
              Name, optional
            </label>
            <input
              id={id}
              class="input"
              value={entry.name}
              placeholder={`rule-${number}`}
              autocomplete="off"
              onInput={(event) => onChange({ ...entry, name: event.currentTarget.value })}
            />
          </div>
        </RuleOptions>
      )}
      {readEntries([entry])[0].isClosed && <p class="small soft">A limit of 0 denies every request that this policy matches.</p>}
      {problem !== undefined && (
        <p class="problem" id={problemId} role="alert">
          {problem}
        </p>
      )}
    </fieldset>
  )
}

function changedAlgorithm(entry: RuleEntry, to: string): RuleEntry {
  if (to === NOTATION) return { kind: 'notation', text: '' }
  const algorithm = to as Algorithm
  if (entry.kind === 'notation') return { kind: 'options', name: '', draft: newRule(algorithm) }
  return { ...entry, draft: withAlgorithm(entry.draft, algorithm) }
}
