// The options of one rule as fields: the usual ones in view, the rare ones on request.

import type { ComponentChildren } from 'preact'
import { OptionFields } from '../forms/option-fields.tsx'
import type { Draft } from '../forms/option-form.ts'
import { ALGORITHMS } from './algorithm-forms.ts'
import type { RuleDraft } from './rule-form.ts'
import './rule-options.css'

export interface RuleOptionsProps {
  readonly draft: RuleDraft
  /** The option that is wrong, and the id of the text that says why. */
  readonly wrong: string | undefined
  readonly problemId: string
  readonly onChange: (draft: RuleDraft) => void
  /** A further field, after the usual ones. */
  readonly children?: ComponentChildren
}

export function RuleOptions({ draft, wrong, problemId, onChange, children }: RuleOptionsProps) {
  const forms = ALGORITHMS[draft.algorithm].options
  const rare = forms.filter(({ isRare }) => isRare)
  const fields = {
    draft: draft.options,
    wrong,
    problemId,
    onChange: (options: Draft) => onChange({ ...draft, options }),
  }
  return (
    <>
      <div class="option-grid">
        <OptionFields forms={forms.filter(({ isRare }) => !isRare)} {...fields} />
        {children}
      </div>
      {rare.length > 0 && (
        <details class="rare-options" open={rare.some(({ name, start }) => draft.options[name] !== start) || undefined}>
          <summary class="small soft">More options</summary>
          <div class="option-grid">
            <OptionFields forms={rare} {...fields} />
          </div>
        </details>
      )}
    </>
  )
}
